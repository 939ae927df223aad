import {
  counterGet,
  counterIncrement,
  counterService,
  eventually,
  startService,
  type RunningService,
} from '@cortex/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

let app: RunningService;
beforeAll(async () => {
  app = await startService(counterService);
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
});

const metrics = async () => (await fetch(`${app.opsUrl}/metrics`)).text();

describe('the operator of a process', () => {
  it('sees calls, errors and durations per tool', async () => {
    await app.call(counterIncrement, { counter_id: 'm' });
    await app.call(counterIncrement, { counter_id: 'm' });
    await app.send('counter_increment', { nonsense: 1 });
    const text = await metrics();
    const labels = 'service="ticket",kind="tool",name="counter_increment"';
    expect(text).toContain(`cortex_calls_total{${labels},outcome="ok"} 2`);
    expect(text).toContain(`cortex_calls_total{${labels},outcome="invalid_argument"} 1`);
    expect(text).toContain(`cortex_call_duration_seconds_count{${labels}} 3`);
    expect(text).toContain('cortex_calls_in_flight{service="ticket"} 0');
  });

  it('sees how far a projection is and what JetStream holds for it', async () => {
    const { seq } = await eventually(
      async () => (await app.host.projections.lag()).find((one) => one.pending === 0) ?? false,
    );
    expect(seq).toBeGreaterThan(0);
    await app.call(counterGet, { counter_id: 'm' });
    const text = await metrics();
    expect(text).toContain('cortex_projection_pending{service="ticket",projection="sample_counters_v1"} 0');
    expect(text).toMatch(/cortex_projection_position\{service="ticket",projection="sample_counters_v1"\} [1-9]/);
    expect(text).toContain(
      'cortex_jetstream_pending{service="ticket",stream="CORTEX_EVENTS",consumer="sample_counters_v1"} 0',
    );
    expect(text).toContain('cortex_bus_up{service="ticket"} 1');
    expect(text).toContain('cortex_database_up{service="ticket"} 1');
    expect(text).toContain('cortex_messages_dropped_total{service="ticket"} 0');
    expect(text).toMatch(/process_resident_memory_bytes \d+/);
  });

  it('is told health and readiness', async () => {
    expect(await (await fetch(`${app.opsUrl}/health`)).json()).toMatchObject({ status: 'ok', services: ['ticket'] });
    expect(await (await fetch(`${app.opsUrl}/ready?x=1`)).json()).toMatchObject({
      ready: true,
      checks: { 'ticket.bus': { ok: true }, 'ticket.start': { ok: true } },
    });
  });

  it('gets nothing else from that port', async () => {
    expect((await fetch(`${app.opsUrl}/ready`, { method: 'POST' })).status).toBe(405);
    expect((await fetch(`${app.opsUrl}/`)).status).toBe(404);
    expect((await fetch(`${app.opsUrl}/health`, { method: 'HEAD' })).status).toBe(200);
  });

  it('sees that a process which stops is not ready', async () => {
    app.host.health.stopping();
    expect(await app.host.health.report()).toMatchObject({
      ready: false,
      checks: { process: { problem: 'stopping' } },
    });
  });
});
