import { failedPrecondition, hashedToken } from '@cortex/contracts';
import type { FactEvent, MemoryType, RecordedFact, Veracity } from '@cortex/contracts/memory';
import { defineDecider } from '@cortex/eventstore';
import { parseDomain } from '../domain/slug.js';
import { WITHOUT_CONFLICTS } from '../domain/system-domains.js';
import { VERACITY_WEIGHT } from './memory-types.js';
import { folded, jaccard, wordSet } from './words.js';

export type FactCommand = {
  type: 'ProposeFact';
  at: string;
  /** `fact.id` names the proposal too: the same one again records nothing. */
  fact: RecordedFact;
  /** Facts of other topics that it would be linked to, the most related first. */
  related: readonly { id: string; weight: number }[];
};

/** An active fact, as far as the next proposal is compared with it. */
type Known = Pick<
  RecordedFact,
  'id' | 'topic' | 'content' | 'memory_type' | 'veracity' | 'confidence' | 'valid_until'
> & { mention_count: number };

export type ProposalStatus = 'proposed' | 'duplicate' | 'superseded_by_conflict';

/** What became of a proposal. */
export interface Outcome {
  proposal_id: string;
  fact_id: string;
  topic: string;
  memory_type: MemoryType;
  status: ProposalStatus;
  confidence: number;
  conflicts_resolved: number;
}

interface State {
  active: readonly Known[];
  /** The newest ones, oldest first: a call that is sent again after its answer was lost finds its own here. */
  outcomes: readonly Outcome[];
}

/** Texts that share so many of their words say the same thing differently. */
const ALIKE = 0.5;
/** What one more mention adds of the confidence that is missing, before veracity. */
const MENTION_GAIN = 0.3;
/** Each is compared with every new one; a topic with more is no topic. */
export const MOST_ACTIVE = 500;
const MOST_OUTCOMES = 200;

/** The aggregate's id: facts of one domain whose topics fold alike are decided together. */
export const factsId = (domain: string, topic: string): string => hashedToken(JSON.stringify([domain, folded(topic)]));

/** The facts of one domain and topic: which are said again, which contradict each other, and who wins. */
export const fact = defineDecider<FactCommand, FactEvent, State>({
  subject: 'memory.fact',
  initial: { active: [], outcomes: [] },
  descriptive: ['topic'],
  decide({ at, fact: proposed, related }, state) {
    if (state.outcomes.some(({ proposal_id }) => proposal_id === proposed.id)) return [];
    const others = activeAt(state.active, at);
    const same = others.find(({ content }) => plain(content) === plain(proposed.content));
    if (same) return [reasserted(same, proposed)];
    if (others.length >= MOST_ACTIVE) {
      throw failedPrecondition('topic', `holds ${MOST_ACTIVE} facts already`, 'use a narrower topic', {
        reason: 'invalid_state',
      });
    }
    const recorded: FactEvent = { type: 'MemoryFactRecorded', data: { fact: proposed } };
    const contradictions = contradictionsOf(proposed, others);
    const losers = new Set(contradictions.map(({ loser }) => loser));
    const linked = losers.has(proposed.id) ? [] : related.filter(({ id }) => !losers.has(id));
    return [
      recorded,
      ...contradictions.flatMap(settled),
      ...linked.map(({ id, weight }): FactEvent => ({
        type: 'MemoryFactsLinked',
        data: { source: proposed.id, target: id, weight },
      })),
    ];
  },
  evolve(state, { type, data, at }) {
    switch (type) {
      case 'MemoryFactRecorded': {
        const { id, topic, content, memory_type, veracity, confidence, valid_until } = data.fact;
        const known = { id, topic, content, memory_type, veracity, confidence, valid_until, mention_count: 1 };
        const outcome = { proposal_id: id, fact_id: id, topic, memory_type, confidence, conflicts_resolved: 0 };
        return {
          active: [...activeAt(state.active, at), known],
          outcomes: latest(state.outcomes, { ...outcome, status: 'proposed' }),
        };
      }
      case 'MemoryFactReasserted': {
        const { fact_id, confidence, mention_count, proposal_id } = data;
        const same = state.active.find(({ id }) => id === fact_id);
        if (!same) return state;
        const { topic, memory_type } = same;
        const outcome = { proposal_id, fact_id, topic, memory_type, confidence, conflicts_resolved: 0 };
        return {
          active: state.active.map((one) => (one === same ? { ...one, confidence, mention_count } : one)),
          outcomes: latest(state.outcomes, { ...outcome, status: 'duplicate' }),
        };
      }
      case 'MemoryConflictDetected': {
        // It stands behind the proposal that brought it about, in the same commit.
        const last = state.outcomes.at(-1);
        if (!last) return state;
        const counted = { ...last, conflicts_resolved: last.conflicts_resolved + 1 };
        if (data.fact_a === last.fact_id) counted.status = 'superseded_by_conflict';
        return { ...state, outcomes: [...state.outcomes.slice(0, -1), counted] };
      }
      case 'MemoryFactSuperseded':
        return { ...state, active: state.active.filter(({ id }) => id !== data.fact_id) };
      case 'MemoryFactsLinked':
        return state;
    }
  },
});

const activeAt = (facts: readonly Known[], at: string): readonly Known[] =>
  facts.filter(({ valid_until }) => valid_until === null || valid_until > at);

const latest = (outcomes: readonly Outcome[], one: Outcome): Outcome[] => [...outcomes.slice(1 - MOST_OUTCOMES), one];

const plain = (content: string): string => content.trim().toLowerCase();

/** Rounded, so that the log holds 0.763 and not what binary fractions make of it. */
const six = (number: number): number => Math.round(number * 1e6) / 1e6;

function reasserted(same: Known, { id, veracity, authored_by_agent_id }: RecordedFact): FactEvent {
  const gained = (1 - same.confidence) * VERACITY_WEIGHT[veracity] * MENTION_GAIN;
  return {
    type: 'MemoryFactReasserted',
    data: {
      fact_id: same.id,
      confidence: Math.min(1, six(same.confidence + gained)),
      mention_count: same.mention_count + 1,
      agent_id: authored_by_agent_id,
      proposal_id: id,
    },
  };
}

const strength = ({ confidence, veracity }: { confidence: number; veracity: Veracity }): number =>
  confidence * VERACITY_WEIGHT[veracity];

interface Contradiction {
  winner: string;
  loser: string;
  /** The loser lost to a stronger one before: it is superseded once. */
  again: boolean;
}

/** Of two near variants the stronger one wins, of equally strong ones the newer. */
function contradictionsOf(proposed: RecordedFact, others: readonly Known[]): Contradiction[] {
  if (parseDomain(proposed.domain).domain_name === WITHOUT_CONFLICTS) return [];
  const words = wordSet(proposed.content);
  let lost = false;
  return others
    .filter(({ content }) => jaccard(words, wordSet(content)) >= ALIKE)
    .toSorted((a, b) => strength(b) - strength(a))
    .map((other) => {
      const wins = strength(proposed) >= strength(other);
      if (wins) return { winner: proposed.id, loser: other.id, again: false };
      const again = lost;
      lost = true;
      return { winner: other.id, loser: proposed.id, again };
    });
}

/** An id made of the pair, whichever comes first: two facts have one conflict. */
export const conflictId = (a: string, b: string): string => hashedToken(JSON.stringify([a, b].toSorted()));

function settled({ winner, loser, again }: Contradiction): FactEvent[] {
  const conflict = { fact_a: loser, fact_b: winner, type: 'contradiction' as const, winning_fact: winner };
  return [
    {
      type: 'MemoryConflictDetected',
      data: { conflict_id: conflictId(winner, loser), ...conflict, resolution: 'superseded' },
    },
    ...(again
      ? []
      : [
          {
            type: 'MemoryFactSuperseded' as const,
            data: { fact_id: loser, superseded_by: winner, reason: 'contradiction' },
          },
        ]),
  ];
}
