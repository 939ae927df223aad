import type { SessionEvent } from '@cortex/contracts/session';
import { foldHistories } from '@cortex/testing/fold-histories';
import { specFor } from '@cortex/testing/spec-for';
import { describe, expect, it } from '@jest/globals';
import { RECENT_MESSAGES, session, type SessionState } from './session.decider.js';
import { openedStart } from './start.js';

const given = specFor(session);
const start = openedStart({
  session_id: 's1',
  workspace: 'w1',
  project: 'general',
  channel: 'web:s1',
  person_id: 'per_1',
  held: new Set(['mcp:cortex:read']),
  execution_id: 'exec_local_a_b',
  trigger: 'cli',
});
const started: SessionEvent = { type: 'SessionStarted', data: start };
const ended: SessionEvent = { type: 'SessionEnded', data: { reason: 'closed' } };
const message = (message_id: string) => ({ message_id, origin: 'user' as const, text: 'hello', tag: null });
const delivered = (id: string): SessionEvent => ({
  type: 'MessageDelivered',
  data: { ...message(id), delivery: 'held' },
});
const deliver = (id: string) => ({ type: 'DeliverMessage' as const, ...message(id) });

describe('a session', () => {
  const { backend, composition, groups, allowlist } = start;

  it('starts with its composition, in one commit', () =>
    given()
      .when({ type: 'StartSession', session_id: 's1', start })
      .then(started, {
        type: 'CompositionResolved',
        data: { session_id: 's1', backend, composition, groups, allowlist },
      }));
  it('starts once, also when its end is already there', () => {
    given(started).when({ type: 'StartSession', session_id: 's1', start }).thenNothing();
    given(started, ended).when({ type: 'StartSession', session_id: 's1', start }).thenNothing();
  });
  it('ends once, and as it ended first', () => {
    given(started).when({ type: 'EndSession', reason: 'closed' }).then(ended);
    given(started, ended).when({ type: 'EndSession', reason: 'other' }).thenNothing();
  });
  it('that nobody started does not end', () =>
    given().when({ type: 'EndSession', reason: 'closed' }).thenRejects('not_found', 'session_id'));

  it('takes a message once', () => {
    given(started).when(deliver('m1')).then(delivered('m1'));
    given(started, delivered('m1')).when(deliver('m1')).thenNothing();
    given(started, delivered('m1'), delivered('m2')).when(deliver('m1')).thenNothing();
  });
  it('knows a message again after its end, and takes no other one', () => {
    given(started, delivered('m1'), ended).when(deliver('m1')).thenNothing();
    given(started, delivered('m1'), ended).when(deliver('m2')).thenRejects('failed_precondition', 'session_id');
  });

  it('T96 holds the same memory after any number of messages, and none of their text', () => {
    const meta = {
      at: '2026-03-01T09:00:00.000Z',
      actor: { kind: 'system' as const, id: 'x' },
      workspace: 'w1',
      version: 1,
    };
    let state: SessionState = session.evolve(session.initial, { ...started, ...meta });
    for (let i = 0; i < RECENT_MESSAGES * 3; i++) {
      state = session.evolve(state, { ...delivered(`message-${i}`), ...meta });
    }
    expect(state.status === 'open' && state.recent).toHaveLength(RECENT_MESSAGES);
    expect(JSON.stringify(state)).not.toContain('hello');
  });

  it('folds what was written before', () => {
    expect(foldHistories(session, new URL('history/', import.meta.url))).toEqual({
      '0001-opened-and-ended.json': {
        status: 'ended',
        start,
        started_at: '2026-11-30T18:00:29.374Z',
        ended_at: '2026-11-30T18:00:48.608Z',
        end_reason: 'closed',
        recent: ['4f8bc3b2-6a0f-8d6e-9a53-0a4e1a0c7b11'],
      },
    });
  });
});
