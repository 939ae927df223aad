import {
  DeliverPolicy,
  jetstream,
  jetstreamManager,
  type JsMsg,
  type OrderedConsumerOptions,
} from '@nats-io/jetstream';
import type { Bus } from '@cortex/bus';
import { CALLS_STREAM, EVENTS_STREAM } from '@cortex/contracts';

export interface LogMessage {
  stream: string;
  subject: string;
  seq: number;
  /** Milliseconds since 1970, when the server stored it, with a fraction. */
  time: number;
  data: Uint8Array;
}

export interface ReadOptions {
  /** Subject pattern; default everything. */
  subject?: string;
  /** ISO time from which on. */
  since?: string;
  /** Only what comes from now on. */
  fresh?: boolean;
}

const STREAMS = { [EVENTS_STREAM]: 'cortex.evt', [CALLS_STREAM]: 'cortex.call' } as const;
type Stream = keyof typeof STREAMS;

/** Both streams as one, in order of arrival; ends when everything that was there at the beginning has been told. */
export async function* readLog(bus: Bus, options: ReadOptions): AsyncGenerator<LogMessage> {
  const sources = await Promise.all(streamsOf(options.subject).map((stream) => past(bus, stream, options)));
  const heads = await Promise.all(sources.map((source) => source.next()));
  for (;;) {
    let first = -1;
    heads.forEach((head, i) => {
      if (head.done) return;
      const best = heads[first];
      if (best === undefined || best.done || head.value.time < best.value.time) first = i;
    });
    const head = heads[first];
    const source = sources[first];
    if (head === undefined || head.done || source === undefined) return;
    yield head.value;
    heads[first] = await source.next();
  }
}

/** What arrives from now on, or from `since` on, of both streams; until the signal aborts. */
export async function followLog(
  bus: Bus,
  options: ReadOptions,
  show: (message: LogMessage) => void,
  signal: AbortSignal,
): Promise<void> {
  await Promise.all(
    streamsOf(options.subject).map(async (stream) => {
      const consumer = await jetstream(bus.nc).consumers.get(stream, consumerOptions(stream, options));
      const messages = await consumer.consume();
      signal.addEventListener('abort', () => messages.stop(), { once: true });
      for await (const message of messages) {
        if (matches(options.subject, message.subject)) show(toLog(stream, message));
      }
    }),
  );
}

async function past(bus: Bus, stream: Stream, options: ReadOptions): Promise<AsyncGenerator<LogMessage>> {
  const manager = await jetstreamManager(bus.nc);
  const { state } = await manager.streams.info(stream);
  return (async function* () {
    if (state.messages === 0) return;
    const consumer = await jetstream(bus.nc).consumers.get(stream, consumerOptions(stream, options));
    // Nothing (more) that matches: the consumer would wait for ever.
    if ((await consumer.info()).num_pending === 0) return;
    const messages = await consumer.consume({ max_messages: 1_000 });
    for await (const message of messages) {
      if (message.seq > state.last_seq) return;
      if (matches(options.subject, message.subject)) yield toLog(stream, message);
      if (message.seq === state.last_seq || message.info.pending === 0) return;
    }
  })();
}

function consumerOptions(stream: Stream, { subject, since, fresh }: ReadOptions): Partial<OrderedConsumerOptions> {
  // The server refuses a filter that is wider than the stream; then we filter ourselves.
  const narrow = subject?.startsWith(`${STREAMS[stream]}.`) ? { filter_subjects: subject } : {};
  if (fresh) return { ...narrow, deliver_policy: DeliverPolicy.New };
  if (since === undefined) return { ...narrow, deliver_policy: DeliverPolicy.All };
  return { ...narrow, deliver_policy: DeliverPolicy.StartTime, opt_start_time: since };
}

/** Streams that can hold a subject of this pattern. */
function streamsOf(subject: string | undefined): Stream[] {
  return (Object.keys(STREAMS) as Stream[]).filter((stream) => overlaps(subject ?? '>', `${STREAMS[stream]}.>`));
}

/** Whether some subject matches both patterns. */
export function overlaps(a: string, b: string): boolean {
  const left = a.split('.');
  const right = b.split('.');
  for (let i = 0; ; i++) {
    const [l, r] = [left[i], right[i]];
    if (l === '>' || r === '>') return l !== undefined && r !== undefined;
    if (l === undefined || r === undefined) return l === r;
    if (l !== '*' && r !== '*' && l !== r) return false;
  }
}

const matches = (pattern: string | undefined, subject: string): boolean =>
  pattern === undefined || overlaps(pattern, subject);

const toLog = (stream: string, message: JsMsg): LogMessage => ({
  stream,
  subject: message.subject,
  seq: message.seq,
  data: message.data,
  time: message.info.timestampNanos / 1e6,
});
