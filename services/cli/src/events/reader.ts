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
}

const STREAMS = { [EVENTS_STREAM]: 'cortex.evt', [CALLS_STREAM]: 'cortex.call' } as const;
type Stream = keyof typeof STREAMS;
const ALL = Object.keys(STREAMS) as Stream[];

/** Where each stream ends: what is read up to here and followed from here is neither missed nor told twice. */
export type Ends = Readonly<Record<Stream, number>>;

export async function endsOf(bus: Bus): Promise<Ends> {
  const ends = await Promise.all(ALL.map(async (stream) => [stream, (await stateOf(bus, stream)).last_seq] as const));
  return Object.fromEntries(ends) as Ends;
}

/** Both streams as one, in order of arrival, up to their ends. */
export async function* readLog(bus: Bus, ends: Ends, options: ReadOptions = {}): AsyncGenerator<LogMessage> {
  const sources = await Promise.all(streamsOf(options.subject).map((s) => past(bus, s, ends[s], options)));
  try {
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
  } finally {
    // Of a reader that has seen enough.
    await Promise.all(sources.map((source) => source.return(undefined)));
  }
}

/** How long a message waits for one of the other stream that was stored before it. */
const HOLD_MS = 100;

/** What arrives after the ends, in order of arrival; until the signal aborts. */
export async function followLog(
  bus: Bus,
  ends: Ends,
  { subject, show, signal }: { subject?: string; show: (message: LogMessage) => void; signal: AbortSignal },
): Promise<void> {
  const held: { message: LogMessage; until: number }[] = [];
  const flush = () => {
    while (held[0] !== undefined && held[0].until <= Date.now()) show((held.shift() as (typeof held)[0]).message);
  };
  const timer = setInterval(flush, HOLD_MS / 4);
  const follow = async (stream: Stream) => {
    const consumer = await consumerAt(bus, stream, ends[stream] + 1, subject);
    // A server that was killed has forgotten the consumer; it is made anew when heartbeats are missing.
    const messages = await consumer.consume({ expires: 10_000, idle_heartbeat: 1_000 });
    signal.addEventListener('abort', () => messages.stop(), { once: true });
    for await (const message of messages) {
      if (!matches(subject, message.subject)) continue;
      held.push({ message: toLog(stream, message), until: Date.now() + HOLD_MS });
      held.sort((a, b) => a.message.time - b.message.time);
    }
  };
  try {
    await Promise.all(streamsOf(subject).map(follow));
  } finally {
    clearInterval(timer);
    for (const { message } of held) show(message);
  }
}

async function past(
  bus: Bus,
  stream: Stream,
  end: number,
  { subject, since }: ReadOptions,
): Promise<AsyncGenerator<LogMessage>> {
  const start = await startOf(bus, stream, since);
  await replicated(bus, stream);
  return (async function* () {
    if (start > end) return;
    for await (const message of upToItsEnd(await consumerAt(bus, stream, start, subject))) {
      if (message.seq > end) return;
      if (matches(subject, message.subject)) yield toLog(stream, message);
    }
  })();
}

const CATCH_UP_MS = 10_000;

/** A consumer may live on a node of the cluster that lags, and be at its end before the stream is: waits for those that are there. */
async function replicated(bus: Bus, stream: Stream): Promise<void> {
  const until = Date.now() + CATCH_UP_MS;
  for (;;) {
    const { cluster } = await infoOf(bus, stream);
    const behind = cluster?.replicas?.some(({ offline, current, lag }) => !offline && (!current || (lag ?? 0) > 0));
    if (!behind || Date.now() > until) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** What a consumer has for its reader just now. */
async function* upToItsEnd(consumer: Consumer): AsyncGenerator<JsMsg> {
  // Nothing that matches: it would wait for ever.
  if ((await consumer.info()).num_pending === 0) return;
  for await (const message of await consumer.consume({ max_messages: 1_000 })) {
    yield message;
    if (message.info.pending === 0) return;
  }
}

/** Always at a sequence: told a time, or "new", the client forgets it when it has to make its consumer anew. */
function consumerAt(bus: Bus, stream: Stream, seq: number, subject: string | undefined): Promise<Consumer> {
  const narrow = narrowed(stream, subject);
  const options = {
    ...(narrow !== undefined && { filter_subjects: narrow }),
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: seq,
  };
  return jetstream(bus.nc).consumers.get(stream, options);
}

/** The server refuses a filter that is wider than the stream; then there is none, and we filter ourselves. */
const narrowed = (stream: Stream, subject: string | undefined): string | undefined =>
  subject?.startsWith(`${STREAMS[stream]}.`) ? subject : undefined;

async function startOf(bus: Bus, stream: Stream, since: string | undefined): Promise<number> {
  if (since === undefined) return Math.max(1, (await stateOf(bus, stream)).first_seq);
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

const infoOf = async (bus: Bus, stream: Stream) => (await jetstreamManager(bus.nc)).streams.info(stream);
const stateOf = async (bus: Bus, stream: Stream) => (await infoOf(bus, stream)).state;

/** First sequence that a stream has, and milliseconds after which messages leave it; Infinity where they never do. */
export async function keptOf(bus: Bus, stream: Stream): Promise<{ first_seq: number; ms: number }> {
  const { state, config } = await infoOf(bus, stream);
  return { first_seq: state.first_seq, ms: config.max_age === 0 ? Number.POSITIVE_INFINITY : config.max_age / 1e6 };
}

/** Streams that can hold a subject of this pattern. */
function streamsOf(subject: string | undefined): Stream[] {
  return ALL.filter((stream) => overlaps(subject ?? '>', `${STREAMS[stream]}.>`));
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
