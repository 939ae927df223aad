import { describe, expect, it } from '@jest/globals';
import { PROVISIONER } from '@cortex/contracts';
import { eventually, natsFixture } from '@cortex/testing';
import { jsonOf, lineOf } from './line.js';
import { endsOf, followLog, overlaps, readLog, type LogMessage, type ReadOptions } from './reader.js';

const message = (body: unknown, subject = 'cortex.evt.remote-ops._.device.lab'): LogMessage => ({
  stream: 'CORTEX_EVENTS',
  subject,
  seq: 7,
  time: Date.UTC(2026, 0, 31, 12),
  data: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
});

describe('a line of the log', () => {
  it('tells time, subject, events and who', () => {
    const line = lineOf(
      message({ actor: { kind: 'user', id: 'per_1' }, events: [{ type: 'DeviceAdded', data: { device: 'lab' } }] }),
    );
    expect(line).toBe('2026-01-31T12:00:00.000Z  evt.remote-ops._.device.lab  DeviceAdded device=lab  by user per_1');
  });

  it('tells outcome, gate and duration of a call', () => {
    const line = lineOf(
      message(
        {
          type: 'ToolCallFinished',
          outcome: 'denied',
          gate: 'scope',
          duration_ms: 1.26,
          caller_sub: 'ada',
          call_id: 'c1',
        },
        'cortex.call.remote-ops.remote_bash',
      ),
    );
    expect(line).toContain('ToolCallFinished  denied  1.3 ms  gate=scope  by ada  c1');
  });

  it('T88 steers no terminal, whatever an event holds', () => {
    const nasty = '\u001b[2J\u0007\r\nfake line\u202e\u009b1m\u2028x';
    const line = lineOf(
      message({ events: [{ type: nasty, data: { [nasty]: nasty } }], actor: { kind: nasty, id: nasty } }),
    );
    // eslint-disable-next-line no-control-regex
    expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u202e]/);
    expect(lineOf(message('\u001b]0;title'))).toContain('no JSON, 9 bytes');
  });

  it('is whole as JSON', () => {
    expect(JSON.parse(jsonOf(message({ events: [] })))).toMatchObject({ seq: 7, message: { events: [] } });
  });
});

it.each([
  ['>', 'cortex.evt.>', true],
  ['cortex.*.mcp-edge.>', 'cortex.call.>', true],
  ['cortex.call.*.remote_bash', 'cortex.call.>', true],
  ['cortex.call.*.remote_bash', 'cortex.evt.>', false],
  ['cortex', 'cortex.evt.>', false],
  ['cortex.evt.a', 'cortex.evt.a', true],
  ['cortex.evt.a', 'cortex.evt.a.b', false],
  ['cortex.evt.a.>', 'cortex.evt.a', false],
])('%s and %s have a subject in common: %s', (a, b, expected) => {
  expect(overlaps(a, b)).toBe(expected);
  expect(overlaps(b, a)).toBe(expected);
});

describe('the two streams', () => {
  const evt = 'cortex.evt.remote-ops._.device.lab';
  const call = 'cortex.call.remote-ops.remote_bash';

  async function logWith(...subjects: string[]) {
    const nats = await natsFixture();
    const bus = await nats.busAs(PROVISIONER);
    for (const [n, subject] of subjects.entries()) await bus.publishAcked(subject, JSON.stringify({ n }));
    const read = async (options: ReadOptions = {}) => {
      const seen: number[] = [];
      for await (const { data } of readLog(bus, await endsOf(bus), options)) seen.push(numberOf(data));
      return seen;
    };
    return { nats, bus, read, [Symbol.asyncDispose]: () => nats[Symbol.asyncDispose]() };
  }
  const numberOf = (data: Uint8Array) => (JSON.parse(Buffer.from(data).toString()) as { n: number }).n;

  it('are told in order of arrival, and end', async () => {
    await using log = await logWith(evt, call, call, evt, call);
    expect(await log.read()).toEqual([0, 1, 2, 3, 4]);
  });

  it('end also when nothing matches, or nothing is there', async () => {
    await using log = await logWith(evt);
    expect(await log.read({ subject: 'cortex.evt.ticket.>' })).toEqual([]);
    expect(await log.read({ subject: 'cortex.call.>' })).toEqual([]);
  });

  it('can be narrowed to subjects, also by a pattern wider than a stream', async () => {
    await using log = await logWith(evt, call, 'cortex.evt.ticket.ws.ticket.t1', call);
    expect(await log.read({ subject: 'cortex.call.*.remote_bash' })).toEqual([1, 3]);
    expect(await log.read({ subject: 'cortex.*.remote-ops.>' })).toEqual([0, 1, 3]);
  });

  it('can be read from a time on', async () => {
    await using log = await logWith(evt, call);
    const since = new Date(Date.now() + 5).toISOString();
    await eventually(() => Date.now() > Date.parse(since));
    expect(await log.read({ since })).toEqual([]);
    await log.bus.publishAcked(call, JSON.stringify({ n: 2 }));
    expect(await log.read({ since })).toEqual([2]);
    expect(await log.read({ since, subject: 'cortex.call.>' })).toEqual([2]);
    expect(await log.read({ since: new Date(0).toISOString() })).toEqual([0, 1, 2]);
  });

  it('go on being told through a kill -9 of the server, each message once', async () => {
    await using log = await logWith(evt, call);
    const seen: number[] = [];
    const streams = new Set<string>();
    const show = ({ data, stream }: LogMessage) => {
      seen.push(numberOf(data));
      streams.add(stream);
    };
    const stop = new AbortController();
    const following = followLog(log.bus, await endsOf(log.bus), { show, signal: stop.signal });
    let n = 1;
    const publish = (subject: string) => log.bus.publishAcked(subject, JSON.stringify({ n: ++n }));
    await eventually(async () => {
      await Promise.all([publish(evt), publish(call)]);
      expect(streams.size).toBe(2);
    });
    await log.nats.kill();
    await log.nats.restart();
    const before = n;
    await eventually(() => publish(call), 10_000);
    await eventually(() => expect(Math.max(...seen)).toBeGreaterThan(before), 20_000);
    // What was there before is the past's, and nothing comes twice or out of order.
    expect(Math.min(...seen)).toBe(2);
    expect(seen).toEqual([...new Set(seen)].toSorted((a, b) => a - b));
    stop.abort();
    await following;
  });
});
