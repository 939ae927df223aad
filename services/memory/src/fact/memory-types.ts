import type { MemoryType, Veracity } from '@cortex/contracts/memory';

/** How much what is known in this way counts for, 0 to 1. */
export const VERACITY_WEIGHT: Readonly<Record<Veracity, number>> = {
  stated: 1.0,
  unknown: 0.8,
  inferred: 0.7,
  imported: 0.6,
  tool: 0.5,
};

export interface TypeTraits {
  /** Shape of its forgetting: below 1 it is quick at first, above 1 it begins late. */
  k: number;
  /** Hours after which 1/e of its worth is left. */
  eta: number;
  /** Raises its score as a class, so that the more telling one wins. */
  priority: number;
  /** What words tell it; each counts once. */
  cues: readonly RegExp[];
}

const word = (cue: string): RegExp => new RegExp(`(?<![\\p{L}\\p{N}])(?:${cue})(?![\\p{L}\\p{N}])`, 'iu');
const cues = (...all: string[]): RegExp[] => all.map(word);
const WEEKDAY = 'by (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)';

export const TYPE_TRAITS: Readonly<Record<MemoryType, TypeTraits>> = {
  instruction: {
    k: 0.9,
    eta: 480,
    priority: 10,
    cues: cues('always', 'never', 'must', 'should', 'do not', 'rule', 'policy', 'make sure'),
  },
  commitment: { k: 1.0, eta: 240, priority: 9, cues: cues(WEEKDAY, 'deadline', 'due', 'promised') },
  error: {
    k: 1.1,
    eta: 336,
    priority: 8,
    cues: cues('error', 'bug', 'failed', 'crash', 'broken', 'timeout', 'workaround', 'deprecated'),
  },
  goal: { k: 0.9, eta: 720, priority: 7, cues: cues('goal', 'target', 'objective', 'kpi') },
  decision: {
    k: 1.0,
    eta: 336,
    priority: 6,
    cues: cues('decided', 'chose', 'settled on', 'going with', 'will use'),
  },
  preference: { k: 0.4, eta: 4380, priority: 5, cues: cues('prefer', 'like', 'dislike', 'usually') },
  // The last one is a quantity: "has 3 replicas", "after 30 days".
  fact: { k: 0.8, eta: 720, priority: 4, cues: cues('is a', 'version', 'contains', 'has \\d+|\\d+ \\p{L}+') },
  relationship: {
    k: 0.35,
    eta: 8760,
    priority: 4,
    cues: cues('owns', 'reports to', 'depends on', 'part of'),
  },
  learning: { k: 0.7, eta: 1440, priority: 3, cues: cues('learned', 'lesson', 'turns out', 'realized') },
  observation: { k: 0.9, eta: 480, priority: 3, cues: cues('noticed', 'tends to', 'often', 'pattern') },
  event: { k: 1.2, eta: 168, priority: 2, cues: cues('yesterday', 'happened', 'released', 'incident') },
  context: { k: 0.85, eta: 360, priority: 2, cues: cues('currently', 'in progress', 'working on', 'blocked') },
  artifact: { k: 0.75, eta: 2160, priority: 1, cues: cues('pr #\\d*', 'commit', 'readme', 'document') },
  request: { k: 1.5, eta: 72, priority: 0, cues: [] },
  unknown: { k: 1.0, eta: 168, priority: 0, cues: [] },
};

/** Below so many words a text without a cue is taken for a fact. */
const SHORT = 5;

/** The type that a text's words tell. */
export function classify(text: string): MemoryType {
  let best: MemoryType | undefined;
  let most = 0;
  for (const [type, { cues: known, priority }] of Object.entries(TYPE_TRAITS) as [MemoryType, TypeTraits][]) {
    const found = known.filter((cue) => cue.test(text)).length;
    if (found === 0) continue;
    const score = Math.min(1, 0.7 + 0.1 * (found - 1)) * (1 + 0.02 * priority);
    if (score > most) [best, most] = [type, score];
  }
  return best ?? (text.trim().split(/\s+/u).length < SHORT ? 'fact' : 'context');
}

/** What is left of a memory's worth at an age, 1 down to 0.02; a time in the future counts as now. */
export function freshness(type: MemoryType, ageHours: number): number {
  const { k, eta } = TYPE_TRAITS[type];
  return 0.02 + 0.98 * Math.exp(-((Math.max(0, ageHours) / eta) ** k));
}
