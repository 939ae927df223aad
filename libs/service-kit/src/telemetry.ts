import { setTimeout as sleep } from 'node:timers/promises';
import { context, ROOT_CONTEXT, trace, type Context, type Tracer } from '@opentelemetry/api';
import { spanContextOf } from '@cortex/bus/trace';
import type { Environment } from './config.js';

/** A collector that is away must not hold up a stop. */
const FLUSH_MS = 3_000;

export interface Telemetry {
  /** Spans of one service: each has a resource of its own, also where several share a process. */
  tracer(service: string): Tracer;
  /** Sends what is queued. */
  shutdown(): Promise<void>;
}

/**
 * Without an endpoint there is no SDK in memory: spans are the API's empty ones, which pass the caller's trace context on.
 */
export async function startTelemetry(env: Environment, version: string): Promise<Telemetry> {
  const url =
    env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ??
    (env.OTEL_EXPORTER_OTLP_ENDPOINT && `${env.OTEL_EXPORTER_OTLP_ENDPOINT.replace(/\/$/, '')}/v1/traces`);
  if (url === undefined || env.OTEL_SDK_DISABLED === 'true') {
    return { tracer: (service) => trace.getTracer(service, version), shutdown: () => Promise.resolve() };
  }
  const [sdk, { AsyncLocalStorageContextManager }, { OTLPTraceExporter }, { resourceFromAttributes }] =
    await Promise.all([
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/context-async-hooks'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/resources'),
    ]);
  const ratio = env.CORTEX_TRACE_SAMPLE ?? env.OTEL_TRACES_SAMPLER_ARG ?? 0.1;
  const sampler = new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(ratio) });
  const processor = new sdk.BatchSpanProcessor({
    exporter: new OTLPTraceExporter({ url, timeoutMillis: env.OTEL_EXPORTER_OTLP_TIMEOUT }),
    scheduledDelayMillis: env.OTEL_BSP_SCHEDULE_DELAY,
  });
  const providers = new Map<string, InstanceType<typeof sdk.TracerProvider>>();
  const contexts = new AsyncLocalStorageContextManager().enable();
  context.setGlobalContextManager(contexts);
  return {
    tracer(service) {
      let provider = providers.get(service);
      if (!provider) {
        const resource = resourceFromAttributes({
          'service.name': service,
          'service.namespace': 'cortex',
          'service.version': version,
        });
        provider = new sdk.TracerProvider({ resource, sampler, spanProcessors: [processor] });
        providers.set(service, provider);
        // Libraries below the kit ask the global one: they share the first service's.
        if (providers.size === 1) trace.setGlobalTracerProvider(provider);
      }
      return provider.getTracer('cortex', version);
    },
    async shutdown() {
      await Promise.race([processor.shutdown(), sleep(FLUSH_MS, undefined, { ref: false })]);
      contexts.disable();
      context.disable();
      trace.disable();
    },
  };
}

/** A context whose parent is the caller's span; the root where there is none, or none that is valid. */
export function contextOf(traceparent: string | undefined): Context {
  const parent = spanContextOf(traceparent);
  return parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
}
