import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Relay, type RelayOptions } from './relay.js';

let sent: { method: string; params: Record<string, unknown> }[];
beforeEach(() => {
  jest.useFakeTimers();
  sent = [];
});
afterEach(() => void jest.useRealTimers());

const relay = (meta: RelayOptions['meta'], client: RelayOptions['client'] = {}) =>
  Relay.wanted({ meta, client, send: (message) => void sent.push(JSON.parse(message) as never) });
const told = () => sent.map(({ params }) => params['progress'] ?? params['data']);

describe('what a backend tells while it works', () => {
  it('is nobody told who did not ask for it', () => {
    expect(relay({})).toBeUndefined();
    expect(relay({ progress_token: 0 })?.log).toBeUndefined();
    expect(relay({}, { log_level: 'info' })?.progress).toBeUndefined();
  });

  it('reaches the client with its own token', () => {
    relay({ progress_token: 'mine' })?.progress?.({ progress: 1, total: 2, message: 'half' });
    expect(sent).toEqual([
      {
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken: 'mine', progress: 1, total: 2, message: 'half' },
      },
    ]);
  });

  it('is told from the level on that the client named', () => {
    const { log } = relay({}, { log_level: 'warning' })!;
    for (const level of ['debug', 'info', 'notice', 'warning', 'error', 'emergency']) log?.({ level, data: level });
    expect(told()).toEqual(['warning', 'error', 'emergency']);
  });

  it('T18 is at most twenty of a kind in a second, and of what waits the oldest is dropped', () => {
    const { progress, log } = relay({ progress_token: 1 }, { log_level: 'debug' })!;
    for (let i = 1; i <= 50; i++) progress?.({ progress: i });
    log?.({ level: 'info', data: 'beside' });
    expect(told()).toEqual([...Array.from({ length: 20 }, (_, i) => i + 1), 'beside']);
    sent = [];
    jest.advanceTimersByTime(1_000);
    expect(told()).toEqual(Array.from({ length: 20 }, (_, i) => i + 31));
  });

  it('ends with the answer: nothing follows it', () => {
    const one = relay({ progress_token: 1 })!;
    for (let i = 1; i <= 30; i++) one.progress?.({ progress: i });
    one.end();
    one.progress?.({ progress: 31 });
    jest.advanceTimersByTime(5_000);
    expect(told()).toHaveLength(20);
  });
});
