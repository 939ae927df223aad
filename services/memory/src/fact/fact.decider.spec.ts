import type { FactEvent, RecordedFact } from '@cortex/contracts/memory';
import { foldHistories } from '@cortex/testing/fold-histories';
import { specFor } from '@cortex/testing/spec-for';
import { describe, expect, it } from '@jest/globals';
import { conflictId, fact, factsId, MOST_ACTIVE, type FactCommand } from './fact.decider.js';

const given = specFor(fact);
const at = '2026-01-05T10:00:00.000Z';

const factOf = (id: string, content: string, more: Partial<RecordedFact> = {}): RecordedFact => ({
  id,
  domain: 'deploys',
  topic: 'deploy target',
  content,
  memory_type: 'fact',
  veracity: 'stated',
  confidence: 1,
  authored_by_agent_id: 'a1',
  authored_by_role: 'coder',
  source_observation_ids: [],
  valid_until: null,
  ...more,
});
const recorded = (...args: Parameters<typeof factOf>): FactEvent => ({
  type: 'MemoryFactRecorded',
  data: { fact: factOf(...args) },
});
const propose = (proposed: RecordedFact, related: FactCommand['related'] = []): FactCommand => ({
  type: 'ProposeFact',
  at,
  fact: proposed,
  related,
});
const reasserted = (fact_id: string, confidence: number, mention_count: number, proposal_id: string): FactEvent => ({
  type: 'MemoryFactReasserted',
  data: { fact_id, confidence, mention_count, agent_id: 'a1', proposal_id },
});
const conflict = (loser: string, winner: string): FactEvent => ({
  type: 'MemoryConflictDetected',
  data: {
    conflict_id: conflictId(loser, winner),
    fact_a: loser,
    fact_b: winner,
    type: 'contradiction',
    resolution: 'superseded',
    winning_fact: winner,
  },
});
const superseded = (fact_id: string, superseded_by: string): FactEvent => ({
  type: 'MemoryFactSuperseded',
  data: { fact_id, superseded_by, reason: 'contradiction' },
});

const lost = (loser: string, winner: string): FactEvent[] => [conflict(loser, winner), superseded(loser, winner)];

const prod = 'deploy target is prod';
const staging = 'deploy target is staging';

describe('a fact that is new', () => {
  it('is recorded', () =>
    given()
      .when(propose(factOf('f1', prod)))
      .then(recorded('f1', prod)));
  it('stands beside one that says something else', () =>
    given(recorded('f1', prod))
      .when(propose(factOf('f2', 'Rollbacks take two minutes.')))
      .then(recorded('f2', 'Rollbacks take two minutes.')));
  it('is linked to what it is related to', () =>
    given()
      .when(propose(factOf('f1', prod), [{ id: 'f9', weight: 0.5 }]))
      .then(recorded('f1', prod), { type: 'MemoryFactsLinked', data: { source: 'f1', target: 'f9', weight: 0.5 } }));
  it('is one too many beside 500 others', () => {
    const many = Array.from({ length: MOST_ACTIVE }, (_, i) => recorded(`f${i}`, `number ${i} ${'w'.repeat(i + 1)}`));
    given(...many)
      .when(propose(factOf('new', 'quite another thing')))
      .thenRejects('failed_precondition', 'topic');
  });
});

describe('a fact that is said again', () => {
  it('becomes more certain, by how it is known this time', () => {
    given(recorded('f1', prod, { confidence: 0.5 }))
      .when(propose(factOf('f2', prod)))
      .then(reasserted('f1', 0.65, 2, 'f2'));
    given(recorded('f1', prod, { confidence: 0.7 }))
      .when(propose(factOf('f2', prod, { veracity: 'inferred' })))
      .then(reasserted('f1', 0.763, 2, 'f2'));
  });
  it('is the same whatever its case and the space around it', () =>
    given(recorded('f1', prod))
      .when(propose(factOf('f2', ` Deploy target is PROD\n`)))
      .then(reasserted('f1', 1, 2, 'f2')));
  it('counts each mention', () =>
    given(recorded('f1', prod, { confidence: 0.5 }), reasserted('f1', 0.65, 2, 'f2'))
      .when(propose(factOf('f3', prod)))
      .then(reasserted('f1', 0.755, 3, 'f3')));
  it('is new once the old one was superseded', () => {
    const past = [recorded('f1', prod), recorded('f2', staging), ...lost('f1', 'f2')];
    given(...past)
      .when(propose(factOf('f3', prod)))
      .then(recorded('f3', prod), ...lost('f2', 'f3'));
  });
  it('is new from the moment the old one has expired', () => {
    given(recorded('f1', prod, { valid_until: at }))
      .when(propose(factOf('f2', prod)))
      .then(recorded('f2', prod));
    given(recorded('f1', prod, { valid_until: '2026-01-05T10:00:00.001Z' }))
      .when(propose(factOf('f2', prod)))
      .then(reasserted('f1', 1, 2, 'f2'));
  });
});

describe('two facts that contradict each other', () => {
  it('of equal strength: the newer one wins', () =>
    given(recorded('f1', prod))
      .when(propose(factOf('f2', staging)))
      .then(recorded('f2', staging), ...lost('f1', 'f2')));
  it('the stronger one wins, and what lost is linked to nothing', () =>
    given(recorded('f1', prod))
      .when(propose(factOf('f2', staging, { confidence: 0.9 }), [{ id: 'f9', weight: 1 }]))
      .then(recorded('f2', staging, { confidence: 0.9 }), ...lost('f2', 'f1')));
  it('strength is confidence by how the fact is known', () =>
    given(recorded('f1', prod, { veracity: 'tool' }))
      .when(propose(factOf('f2', staging, { confidence: 0.6 })))
      .then(recorded('f2', staging, { confidence: 0.6 }), ...lost('f1', 'f2')));
  it('a new one that loses twice is superseded once, by the stronger', () => {
    const first = recorded('f1', 'deploy target is prod', { confidence: 0.8 });
    const second = recorded('f2', 'deploy target is not known', { confidence: 0.9 });
    const weak = factOf('f3', 'deploy target is staging', { confidence: 0.1 });
    const twice = [...lost('f3', 'f2'), conflict('f3', 'f1')];
    given(first, second)
      .when(propose(weak))
      .then({ type: 'MemoryFactRecorded', data: { fact: weak } }, ...twice);
  });
  it('are left side by side among dismissed review findings', () =>
    given(recorded('f1', prod, { domain: 'review-suppressions' }))
      .when(propose(factOf('f2', staging, { domain: 'repo:acme-api/review-suppressions' })))
      .then(recorded('f2', staging, { domain: 'repo:acme-api/review-suppressions' })));
  it('have one conflict, whichever is named first', () => expect(conflictId('a', 'b')).toBe(conflictId('b', 'a')));
});

describe('P82 a proposal that comes again after the log has forgotten its commit id', () => {
  it('records nothing when it made a fact, even one that was superseded since', () => {
    given(recorded('f1', prod))
      .when(propose(factOf('f1', prod)))
      .thenNothing();
    given(recorded('f1', prod), recorded('f2', staging), ...lost('f1', 'f2'))
      .when(propose(factOf('f1', prod)))
      .thenNothing();
  });
  it('records nothing when it was a mention', () =>
    given(recorded('f1', prod, { confidence: 0.5 }), reasserted('f1', 0.65, 2, 'f2'))
      .when(propose(factOf('f2', prod)))
      .thenNothing());
});

it('T84 has one id per domain and folded topic, which can stand in a subject', () => {
  expect(factsId('deploys', ' Deploy  Target')).toBe(factsId('deploys', 'deploy target'));
  expect(factsId('deploys', 'deploy target')).not.toBe(factsId('repo:acme-api/deploys', 'deploy target'));
  expect(factsId('a', '*.> \u0000')).toMatch(/^[0-9a-f]{32}$/);
});

it('folds every stored history', () => {
  const known = { topic: 'deploy target', memory_type: 'fact', veracity: 'stated', valid_until: null };
  const outcome = { topic: 'deploy target', memory_type: 'fact', conflicts_resolved: 0 };
  expect(foldHistories(fact, new URL('history/', import.meta.url))).toEqual({
    '0001-contradicted.json': {
      active: [{ id: 'f2', ...known, content: staging, confidence: 1, mention_count: 1 }],
      outcomes: [
        { ...outcome, proposal_id: 'f1', fact_id: 'f1', status: 'proposed', confidence: 0.5 },
        { ...outcome, proposal_id: 'p2', fact_id: 'f1', status: 'duplicate', confidence: 0.65 },
        { ...outcome, proposal_id: 'f2', fact_id: 'f2', status: 'proposed', confidence: 1, conflicts_resolved: 1 },
        {
          ...outcome,
          proposal_id: 'f3',
          fact_id: 'f3',
          status: 'superseded_by_conflict',
          confidence: 0.1,
          conflicts_resolved: 1,
        },
      ],
    },
  });
});
