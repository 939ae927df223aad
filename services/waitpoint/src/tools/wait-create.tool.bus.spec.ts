import { startService, type RunningService } from '@cortex/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { asSession, signalOf } from '../testing/session.js';
import { WaitpointModule } from '../waitpoint.module.js';
import { waitCancel } from './wait-cancel.tool.js';
import { waitCheck } from './wait-check.tool.js';
import { waitCreate } from './wait-create.tool.js';

let app: RunningService;
beforeAll(async () => {
  app = await startService(WaitpointModule, { env: { CORTEX_WAITPOINT_SWEEP_MS: '0' } });
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
});

const train = { label: 'train arm2', intent: 'compare the loss with arm6' };

describe('wait_create', () => {
  it('arms a waitpoint that the next wait_check of the session shows, without its secret', async () => {
    const made = await app.call(waitCreate, train, asSession());
    expect(made).toMatchObject({
      id: expect.stringMatching(/^wp_[0-9a-f]{12}$/),
      secret: expect.stringMatching(/^[0-9a-f]{32}$/),
      state: 'armed',
      quorum: { need: 1, got: 0, members: [] },
      emit_from: { kind: 'local' },
    });
    const { waitpoint } = await app.call(waitCheck, { id: made.id }, asSession());
    expect(waitpoint).toMatchObject({ id: made.id, state: 'armed', signals: [], fires: 0 });
    expect(JSON.stringify(waitpoint)).not.toContain(made.secret);
  });
});

it('a signal fires it, and is shown', async () => {
  const { id, secret } = await app.call(waitCreate, train, asSession('s2'));
  const signal = signalOf(app);
  expect(await signal({ id, secret, status: 'fail', message: 'exit=1' })).toEqual({
    http: 202,
    body: { accepted: true, fired: true },
  });
  expect(await signal({ id, secret })).toMatchObject({ http: 410, body: { state: 'fired' } });
  expect((await app.call(waitCheck, { id }, asSession('s2'))).waitpoint).toMatchObject({
    state: 'fired',
    fires: 1,
    quorum: { got: 1, reported: ['#1'] },
    signals: [{ status: 'fail', message: 'exit=1', source: 'webhook' }],
  });
  expect(await app.call(waitCheck, {}, asSession('s2'))).toEqual({ waitpoints: [] });
  expect(await app.call(waitCancel, { id }, asSession('s2'))).toEqual({ id, cancelled: false, state: 'fired' });
});
