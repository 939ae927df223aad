import { AckPolicy, DeliverPolicy, jetstream, jetstreamManager, type Consumer, type JsMsg } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
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
      const consumer = await consumerAt(bus, stream, await startOf(bus, stream, options), options.subject);
      // A server that was killed has forgotten the consumer; it is made anew when heartbeats are missing.
      const messages = await consumer.consume({ expires: 10_000, idle_heartbeat: 1_000 });
      signal.addEventListener('abort', () => messages.stop(), { once: true });
      for await (const message of messages) {
        if (matches(options.subject, message.subject)) show(toLog(stream, message));
      }
    }),
  );
}

async function past(bus: Bus, stream: Stream, options: ReadOptions): Promise<AsyncGenerator<LogMessage>> {
  const { last_seq } = await stateOf(bus, stream);
  const start = await startOf(bus, stream, options);
  return (async function* () {
    if (start > last_seq) return;
    const consumer = await consumerAt(bus, stream, start, options.subject);
    // Nothing that matches: the consumer would wait for ever.
    if ((await consumer.info()).num_pending === 0) return;
    const messages = await consumer.consume({ max_messages: 1_000 });
    for await (const message of messages) {
      if (message.seq > last_seq) return;
      if (matches(options.subject, message.subject)) yield toLog(stream, message);
      if (message.seq === last_seq || message.info.pending === 0) return;
    }
  })();
}

/** Always at a sequence: told a time, or "new", the client forgets it when it has to make its consumer anew. */
function consumerAt(bus: Bus, stream: Stream, seq: number, subject: string | undefined): Promise<Consumer> {
  // The server refuses a filter that is wider than the stream; then we filter ourselves.
  const narrow = subject?.startsWith(`${STREAMS[stream]}.`) ? { filter_subjects: subject } : {};
  const options = { ...narrow, deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: seq };
  return jetstream(bus.nc).consumers.get(stream, options);
}

async function startOf(bus: Bus, stream: Stream, { since, fresh }: ReadOptions): Promise<number> {
  const { first_seq, last_seq } = await stateOf(bus, stream);
  if (fresh) return last_seq + 1;
  if (since === undefined) return Math.max(1, first_seq);
  // A consumer that starts at a time knows the sequence it starts at.
  const { consumers } = await jetstreamManager(bus.nc);
  const at = await consumers.add(stream, {
    deliver_policy: DeliverPolicy.StartTime,
    opt_start_time: since,
    ack_policy: AckPolicy.None,
    mem_storage: true,
    inactive_threshold: nanos(5_000),
  });
  await consumers.delete(stream, at.name);
  return at.delivered.stream_seq + 1;
}

const stateOf = async (bus: Bus, stream: Stream) => (await (await jetstreamManager(bus.nc)).streams.info(stream)).state;

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
