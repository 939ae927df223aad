import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually, type OtlpReceiver, otlpReceiver } from '@cortex/testing';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';

let receiver: OtlpReceiver;
let edge: EdgeFixture;
beforeAll(async () => {
  receiver = await otlpReceiver();
  edge = await startEdge({
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, CORTEX_TRACE_SAMPLE: '1', OTEL_BSP_SCHEDULE_DELAY: '50' },
  });
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

const parent = (trace: string, flags = '01') => `00-${trace.repeat(32)}-${'b'.repeat(16)}-${flags}`;
const spansOf = (trace: string, count: number) =>
  eventually(() => {
    const spans = receiver.trace(trace);
    if (spans.length < count) throw new Error(`only ${spans.length} spans`);
    return spans;
  });

it('one trace joins the edge, the service and the record of a call', async () => {
  await edge.call('sample_echo', { text: 'traced' }, { headers: { origin: 'http://localhost:7001' } });
  const { trace_id } = await edge.finished({ tool: 'sample_echo', origin: 'http://localhost:7001' });
  const spans = await spansOf(trace_id ?? '', 2);
  const root = spans.find(({ service }) => service === 'mcp-edge');
  const child = spans.find(({ service }) => service === 'ticket');
  expect(root).toMatchObject({ name: 'tools/call', kind: 2 });
  expect(root?.attributes).toMatchObject({ 'gen_ai.tool.name': 'sample_echo', 'cortex.call_id': expect.any(String) });
  expect(root?.parentSpanId ?? '').toBe('');
  expect(child?.parentSpanId).toBe(root?.spanId);
});

it("P78 the client's context is taken from _meta before the header, and from either", async () => {
  await edge.call(
    'sample_echo',
    { text: 'x' },
    { meta: { traceparent: parent('1') }, headers: { traceparent: parent('2') } },
  );
  const [span] = await spansOf('1'.repeat(32), 2);
  expect(span).toBeDefined();
  expect(receiver.trace('2'.repeat(32))).toEqual([]);
  await edge.call('sample_echo', { text: 'x' }, { headers: { traceparent: parent('3') } });
  const spans = await spansOf('3'.repeat(32), 2);
  expect(spans.find(({ service }) => service === 'mcp-edge')?.parentSpanId).toBe('b'.repeat(16));
});

it('P77 a bogus context starts a trace of its own, one per request', async () => {
  const origins = ['http://localhost:7002', 'http://localhost:7003'];
  for (const origin of origins)
    await edge.call('sample_echo', { text: 'x' }, { meta: { traceparent: 'bogus' }, headers: { origin } });
  const traces = await Promise.all(
    origins.map(async (origin) => (await edge.finished({ tool: 'sample_echo', origin })).trace_id ?? ''),
  );
  expect(new Set(traces).size).toBe(2);
  for (const trace of traces) expect(await spansOf(trace, 2)).toHaveLength(2);
});

it('P77 an unsampled context of the client is kept: no span, the same ids on record', async () => {
  const before = receiver.spans.length;
  await edge.call('sample_echo', { text: 'x' }, { meta: { traceparent: parent('4', '00') } });
  expect(await edge.finished({ trace_id: '4'.repeat(32) })).toBeDefined();
  await edge.call('sample_echo', { text: 'x' }, { meta: { traceparent: parent('5') } });
  await spansOf('5'.repeat(32), 2);
  expect(receiver.trace('4'.repeat(32))).toEqual([]);
  expect(receiver.spans.length).toBe(before + 2);
});

it('a refused call is a span with an error', async () => {
  await edge.call('sample_risky', { path: 'x' }, { meta: { traceparent: parent('6') } });
  const [span] = await spansOf('6'.repeat(32), 1);
  expect(span).toMatchObject({ name: 'tools/call', status: 2 });
});
