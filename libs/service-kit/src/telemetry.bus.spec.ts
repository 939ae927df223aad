import { headers } from '@cortex/bus';
import { counterGet, counterIncrement, counterService, eventually, otlpReceiver, startService } from '@cortex/testing';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import type { Logger } from 'pino';
import { defineService, LOG } from './service.js';
import { defineTool } from './tool.js';

const trace = '0af7651916cd43dd8448eb211c80319c';
const sampled = `00-${trace}-b7ad6b7169203331-01`;

const chatty = defineTool({
  name: 'chatty',
  title: 'Chatty',
  description: 'Logs.',
  tier: 'read',
  actions: [],
  workspace: 'none',
  input: z.object({}),
  output: z.object({}),
  handle(_args, ctx) {
    ctx.log.info('from the handler');
    ctx.get<Logger>(LOG).info('from an adapter');
    return {};
  },
});

describe('telemetry', () => {
  it('joins handler and commit of a sampled call to the span of its caller, and its trace to the commit', async () => {
    await using collector = await otlpReceiver();
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '50' };
    await using app = await startService(counterService, { env });
    await app.call(counterIncrement, { counter_id: 'c1' }, { traceparent: sampled, call_id: 'call-1' });
    const [handler, commit] = await eventually(() => {
      const spans = collector.trace(trace);
      expect(spans).toHaveLength(2);
      return [spans.find(({ name }) => name.startsWith('tool')), spans.find(({ name }) => name.startsWith('commit'))];
    });
    expect(handler).toMatchObject({
      name: 'tool counter_increment',
      kind: 2,
      service: 'ticket',
      parentSpanId: 'b7ad6b7169203331',
      attributes: { 'cortex.service': 'ticket', 'cortex.call_id': 'call-1' },
    });
    expect(commit).toMatchObject({ name: 'commit ticket.counter', parentSpanId: handler!.spanId });
    const stored = await app.host.bus.direct.last('CORTEX_EVENTS', 'cortex.evt.ticket.w1.counter.c1');
    expect(JSON.parse(Buffer.from(stored!.data).toString())).toMatchObject({
      traceparent: `00-${trace}-${commit!.spanId}-01`,
    });
  });

  it('records nothing of a call that its caller did not sample, and marks a failed one', async () => {
    await using collector = await otlpReceiver();
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '50', CORTEX_TRACE_SAMPLE: '1' };
    await using app = await startService(counterService, { env });
    await app.call(counterIncrement, { counter_id: 'c1' }, { traceparent: sampled.replace(/01$/, '00') });
    await app.send('counter_increment', {}, { traceparent: sampled });
    const spans = await eventually(() => collector.spans.length > 0 && collector.spans);
    expect(spans).toMatchObject([{ traceId: trace, status: 2 }]);
  });

  it.each([
    ['1', 20],
    ['0', 0],
  ])('begins traces of its own at the rate %s', async (rate, expected) => {
    await using collector = await otlpReceiver();
    {
      const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_SAMPLER_ARG: rate };
      await using app = await startService(counterService, { env });
      for (let i = 0; i < 20; i++) await app.call(counterGet, { counter_id: 'c' });
    }
    // A stop sends what is queued.
    expect(collector.spans.filter(({ name }) => name === 'tool counter_get')).toHaveLength(expected);
  });

  it('P78 takes the context of the header where the body has none, and that of the body before it', async () => {
    await using collector = await otlpReceiver();
    const other = 'b'.repeat(32);
    {
      await using app = await startService(counterService, { env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } });
      const edge = await app.nats.busAs('mcp-edge');
      const header = headers();
      header.set('traceparent', sampled.replace(trace, other));
      const request = {
        v: 1,
        call_id: 'c',
        workspace_id: 'w1',
        scope: {},
        args: { counter_id: 'c' },
        deadline_ms: 5000,
      };
      for (const more of [{}, { traceparent: sampled }]) {
        const body = JSON.stringify({ ...request, principal: { type: 'user', id: 'p', roles: [] }, ...more });
        await edge.request('cortex.tool.ticket.counter_get', body, { timeoutMs: 5000, headers: header });
      }
    }
    expect(collector.spans.map(({ traceId }) => traceId)).toEqual([other, trace]);
  });

  it('P77 takes a bogus trace context for none', async () => {
    await using collector = await otlpReceiver();
    {
      const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, CORTEX_TRACE_SAMPLE: '1' };
      await using app = await startService(counterService, { env });
      for (const traceparent of [
        'garbage',
        `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
        `ff-${trace}-b7ad6b7169203331-01`,
      ]) {
        await app.call(counterGet, { counter_id: 'c' }, { traceparent });
      }
    }
    expect(new Set(collector.spans.map(({ traceId }) => traceId)).size).toBe(3);
    expect(collector.spans.every(({ parentSpanId }) => !parentSpanId)).toBe(true);
  });

  it('passes the trace on without an SDK: into the commit and the log', async () => {
    const service = defineService({ ...counterService, tools: [...counterService.tools, chatty] });
    await using app = await startService(service);
    await app.call(counterIncrement, { counter_id: 'c1' }, { traceparent: sampled });
    const stored = await app.host.bus.direct.last('CORTEX_EVENTS', 'cortex.evt.ticket.w1.counter.c1');
    expect(JSON.parse(Buffer.from(stored!.data).toString())).toMatchObject({ traceparent: sampled });
    await app.call(chatty, {}, { traceparent: sampled, call_id: 'call-7' });
    expect(app.log.map((line) => JSON.parse(line) as object)).toContainEqual(
      expect.objectContaining({ msg: 'from the handler', trace_id: trace, call_id: 'call-7', service: 'ticket' }),
    );
  });

  it('puts the ids of the running span on every line that is logged within it', async () => {
    await using collector = await otlpReceiver();
    const service = defineService({ ...counterService, tools: [chatty] });
    await using app = await startService(service, { env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } });
    await app.call(chatty, {}, { traceparent: sampled });
    const line = app.log.find((one) => one.includes('from an adapter'));
    expect(JSON.parse(line!)).toMatchObject({ trace_id: trace });
    const own = app.log.find((one) => one.includes('from the handler'))!;
    expect(own.match(/"trace_id"/g)).toHaveLength(1);
  });

  it('survives a collector that is away', async () => {
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
      OTEL_BSP_SCHEDULE_DELAY: '10',
      OTEL_EXPORTER_OTLP_TIMEOUT: '500',
      CORTEX_TRACE_SAMPLE: '1',
    };
    await using app = await startService(counterService, { env });
    expect(await app.call(counterIncrement, { counter_id: 'c1' })).toMatchObject({ total: 1 });
  });
});
