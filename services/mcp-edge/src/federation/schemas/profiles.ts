import { draft07 } from './draft-07.js';
import { flat } from './flat.js';
import { inline } from './inline.js';
import type { Step } from './step.js';
import { strip } from './strip.js';

/** The steps of a profile in the order in which they run. */
export const STEPS = ['inline', 'flat', 'strip', 'draft-07'] as const;
export type StepName = (typeof STEPS)[number];
export const STEP: Readonly<Record<StepName, Step>> = { inline, flat, strip, 'draft-07': draft07 };

const BASIC_STEPS: readonly StepName[] = ['inline', 'flat', 'strip'];

export const ORIGINAL = 'original';
/** The one that clients with simple needs ask for. */
export const BASIC = 'basic';

/** What a client may ask for. A comma list of steps is a profile too. */
export const KNOWN_PROFILES: readonly string[] = [ORIGINAL, ...STEPS, BASIC];

/**
 * A profile by its name or list of steps, in one spelling per set of steps; undefined for one that is unknown. What is asked for twice, or
 * in another order, is the same profile.
 */
export function profileOf(asked: string): string | undefined {
  const names = asked
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (names.length === 0 || !names.every((name) => KNOWN_PROFILES.includes(name))) return undefined;
  const steps = new Set<string>(
    names.flatMap((name) => (name === BASIC ? BASIC_STEPS : name === ORIGINAL ? [] : [name as StepName])),
  );
  if (steps.size === BASIC_STEPS.length && BASIC_STEPS.every((step) => steps.has(step))) return BASIC;
  return STEPS.filter((step) => steps.has(step)).join(',') || ORIGINAL;
}

/** The steps of a profile as `profileOf` spells it. Output schemas are never made flat: they are read by programs. */
export const stepsOf = (profile: string, kind: 'input' | 'output'): Step[] => {
  const names = profile === BASIC ? BASIC_STEPS : STEPS.filter((step) => profile.split(',').includes(step));
  return names.filter((name) => kind === 'input' || name !== 'flat').map((name) => STEP[name]);
};
