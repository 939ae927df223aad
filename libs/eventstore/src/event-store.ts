import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus, Log, StoredMessage } from '@cortex/bus';
import {
  COMMIT_HEADER,
  conflict,
  EVENTS_STREAM,
  failedPrecondition,
  isCortexError,
  NO_WORKSPACE,
  subjects,
  type Actor,
  type CommitEnvelope,
} from '@cortex/contracts';
import { newest, readCommit } from './commit.js';
import type { Decider, EventMeta, EventShape } from './decider.js';
import { DESCRIPTIVE, redactFields } from './redactor.js';
import type { SnapshotStore } from './snapshots.js';
import { StateCache } from './state-cache.js';

/** Who, when and why: the part of the envelope that a command brings. */
export interface CommitContext {
  /** `Nats-Msg-Id`: the same id within two minutes gives the first commit again. Of one commit only. */
  commitId: string;
  /** ISO 8601, UTC, milliseconds. */
  at: string;
  actor: Actor;
  session_id?: string;
  project?: string;
  correlation_id: string;
  causation_id: string;
  traceparent?: string;
  signal?: AbortSignal;
}

export type RecordedEvent = CommitEnvelope['events'][number];

export interface Executed {
  /** Sequence of the commit, or of the subject's last one when nothing was recorded (0: none). */
  seq: number;
  events: RecordedEvent[];
  /** The commit id was known: `events` are those of the first try. */
  duplicate: boolean;
}

export interface Loaded<State> {
  state: State;
  /** Sequence of the subject's last message, 0: none. */
  seq: number;
  /** The first event that only a newer release knows; `state` leaves it out. */
  unknown?: { type: string; version: number; seq: number };
}

export interface EventStoreOptions {
  bus: Bus;
  snapshots?: SnapshotStore;
  /** Aggregates kept in memory, default 10,000. */
  cacheSize?: number;
  /** About the bytes of state kept in memory, default 32 MiB. */
  cacheBytes?: number;
  log?: Log;
}

interface Folded<State> extends Loaded<State> {
  /** Commits since the last snapshot. */
  since: number;
  /** Id of the last commit; unknown right after a snapshot. */
  last?: string;
  /** Commits were lost, and none came after them that its decider could be told with. */
  gap?: boolean;
}

const RETRIES = 4;
const SNAPSHOT_EVERY = 50;
const EXPECTED = 'Nats-Expected-Last-Subject-Sequence';

/** Decides on the fold of one subject's commits, and records what was decided if nothing came in between. */
export class EventStore {
  readonly #bus: Bus;
  readonly #snapshots: SnapshotStore | undefined;
  readonly #log: Log;
  readonly #cache: StateCache<Folded<unknown>>;
  readonly #turns = new Map<string, Promise<unknown>>();
  /** Deciders whose state JSON cannot hold; told once. */
  readonly #unstorable = new Set<string>();

  constructor({
    bus,
    snapshots,
    cacheSize = 10_000,
    cacheBytes = 32 * 1024 * 1024,
    log = () => {},
  }: EventStoreOptions) {
    this.#bus = bus;
    this.#snapshots = snapshots;
    this.#log = log;
    this.#cache = new StateCache(cacheSize, cacheBytes);
  }

  get cached(): { entries: number; bytes: number } {
    return { entries: this.#cache.size, bytes: this.#cache.bytes };
  }

  /**
   * The newest state: of the stream's leader, since a replica that lags does not know what another process has just answered to the same
   * caller. Errors: `invalid_argument` (workspace_id, id), `unavailable`.
   */
  async load<C, E extends EventShape, S>(
    decider: Decider<C, E, S>,
    workspace: string | null,
    id: string,
  ): Promise<Loaded<S>> {
    return this.#load(decider, subjects.event(decider.subject, workspace, id), true);
  }

  /**
   * Decides and commits. Errors: what `decide` throws; `conflict` revision_conflict after 4 tries against others;
   * `failed_precondition` when a newer release wrote to the aggregate; `invalid_argument` too_large; `unavailable`
   * (with `details.outcome` unknown when it may have been recorded: the same commit id makes a repeat safe).
   */
  async execute<C, E extends EventShape, S>(
    decider: Decider<C, E, S>,
    workspace: string | null,
    id: string,
    command: C,
    ctx: CommitContext,
  ): Promise<Executed> {
    const subject = subjects.event(decider.subject, workspace, id);
    // One after the other within a process, so that only other processes are conflicts.
    const before = this.#turns.get(subject);
    const turn = (before ?? Promise.resolve()).then(() => this.#execute(decider, subject, workspace, command, ctx));
    const settled = turn.catch(() => {});
    this.#turns.set(subject, settled);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(subject) === settled) this.#turns.delete(subject);
    }
  }

  async #execute<C, E extends EventShape, S>(
    decider: Decider<C, E, S>,
    subject: string,
    workspace: string | null,
    command: C,
    ctx: CommitContext,
  ): Promise<Executed> {
    // What is in memory may be behind, and so may a replica. A commit decided on it is then refused by its expected sequence;
    // a refusal or "nothing new" would go unnoticed, so these are decided again on what the leader has.
    let current = (this.#cache.get(subject) as Folded<S> | undefined) ?? (await this.#load(decider, subject));
    let sure = false;
    for (let attempt = 0; ; attempt++) {
      let events: E[];
      try {
        events = decideOn(decider, current, command, subject);
        if (events.length === 0 && sure) {
          return (await this.#repeated(subject, current, ctx)) ?? { seq: current.seq, events: [], duplicate: false };
        }
      } catch (error) {
        // A refusal stands, also for the commit that made it so: it keeps an effect outside from being made twice.
        if (sure) throw error;
        events = [];
      }
      if (events.length === 0) {
        current = await this.#load(decider, subject, true);
        sure = true;
        continue;
      }
      try {
        return await this.#commit(decider, subject, workspace, current, events, ctx);
      } catch (error) {
        if (!isCortexError(error) || error.details?.['code'] !== 10071) throw error;
        if (attempt >= RETRIES) {
          throw conflict('id', 'is being changed by others', 'read it and try again', { reason: 'revision_conflict' });
        }
        await sleep(Math.random() * 10 * 2 ** attempt);
        current = await this.#load(decider, subject, true);
        sure = true;
      }
    }
  }

  async #commit<C, E extends EventShape, S>(
    decider: Decider<C, E, S>,
    subject: string,
    workspace: string | null,
    current: Folded<S>,
    events: E[],
    ctx: CommitContext,
  ): Promise<Executed> {
    const { commitId, at, actor, session_id, project, correlation_id, causation_id, traceparent, signal } = ctx;
    const fields = new Set([...DESCRIPTIVE, ...(decider.descriptive ?? [])]);
    const documents = new Set(decider.documents);
    const envelope: CommitEnvelope = {
      commit_id: commitId,
      at,
      actor,
      workspace: workspace ?? NO_WORKSPACE,
      ...(session_id !== undefined && { session_id }),
      ...(project !== undefined && { project }),
      correlation_id,
      causation_id,
      ...(traceparent !== undefined && { traceparent }),
      events: events.map(({ type, data }) => ({
        type,
        version: decider.version?.[type] ?? 1,
        data: redactFields(data, fields, documents),
      })),
    };
    const ack = await this.#bus.publishAcked(subject, JSON.stringify(envelope), {
      msgId: commitId,
      expectLastSubjectSeq: current.seq,
      headers: { [COMMIT_HEADER]: commitId },
      ...(signal && { signal }),
    });
    if (ack.duplicate) {
      this.#cache.delete(subject);
      return { seq: ack.seq, events: await this.#recorded(subject, ack.seq, commitId), duplicate: true };
    }
    // Folded from what was stored, so that this process sees the same as every other.
    const stored = JSON.parse(JSON.stringify(envelope)) as CommitEnvelope;
    const next = foldCommit(decider, { ...current, seq: ack.seq, since: current.since + 1 }, stored);
    this.#keep(decider, subject, next);
    return { seq: ack.seq, events: stored.events, duplicate: false };
  }

  /** What this very commit recorded, when it is the last one: its first answer was lost, and the repeat gives it again. */
  async #repeated(subject: string, { seq, last }: Folded<unknown>, { commitId }: CommitContext) {
    if (last !== commitId) return undefined;
    return { seq, events: await this.#recorded(subject, seq, commitId), duplicate: true };
  }

  /** The commit that took this id first. */
  async #recorded(subject: string, seq: number, commitId: string): Promise<RecordedEvent[]> {
    const message =
      (await this.#bus.direct.next(EVENTS_STREAM, subject, seq)) ??
      (await this.#bus.direct.nextFromLeader(EVENTS_STREAM, subject, seq));
    const read = message?.seq === seq ? readCommit(message) : undefined;
    if (read && 'commit' in read && read.commit.commit_id === commitId) return read.commit.events;
    // The id is known in the whole stream: this commit was dropped for one of another aggregate.
    throw conflict('commit_id', 'was used for another aggregate', 'give every commit an id of its own', {
      reason: 'idempotency_mismatch',
    });
  }

  async #load<C, E extends EventShape, S>(
    decider: Decider<C, E, S>,
    subject: string,
    fromLeader = false,
  ): Promise<Folded<S>> {
    const { direct } = this.#bus;
    const last = fromLeader
      ? await direct.lastFromLeader(EVENTS_STREAM, subject)
      : await direct.last(EVENTS_STREAM, subject);
    const cached = this.#cache.get(subject) as Folded<S> | undefined;
    if (!last) {
      // A replica that lags may not have it yet; a commit on what is in memory is guarded by its expected sequence.
      if (cached && !fromLeader) return cached;
      // Purged (a person or workspace was erased), or never there.
      this.#cache.delete(subject);
      return { state: decider.initial, seq: 0, since: 0 };
    }
    // A replica that lags may know less than we do; the expected sequence guards both.
    if (cached && (cached.seq === last.seq || (cached.seq > last.seq && !fromLeader))) return cached;
    let folded = cached && cached.seq < last.seq ? cached : await this.#start(decider, subject, last.seq);
    while (folded.seq < last.seq) {
      const message = await this.#after(folded.seq, last, subject, fromLeader);
      folded = this.#fold(decider, folded, message);
    }
    this.#keep(decider, subject, folded);
    return folded;
  }

  /** Each commit names the sequence before it: usually the last one is the next one, and nothing is left to read. */
  async #after(seq: number, last: StoredMessage, subject: string, fromLeader: boolean): Promise<StoredMessage> {
    if (last.headers?.get(EXPECTED) === String(seq)) return last;
    const { direct } = this.#bus;
    // A replica that lags says that there is nothing yet, and one that is damaged leaves something out. To believe it would leave
    // commits out of a state that has the newest sequence, and the expected sequence would guard nothing: so the leader is asked.
    const near = fromLeader ? null : await direct.next(EVENTS_STREAM, subject, seq + 1);
    if (near && follows(near, seq)) return near;
    return (await direct.nextFromLeader(EVENTS_STREAM, subject, seq + 1)) ?? near ?? last;
  }

  async #start<C, E extends EventShape, S>(
    decider: Decider<C, E, S>,
    subject: string,
    lastSeq: number,
  ): Promise<Folded<S>> {
    const fresh = { state: decider.initial, seq: 0, since: 0 };
    // Reading one costs as much as a few commits: an aggregate that is not long has none.
    const snapshot = lastSeq > 1 ? await this.#snapshots?.get(subject) : undefined;
    // Later than the log: the log was erased or restored, and the snapshot is of another past.
    if (!snapshot || snapshot.version !== (decider.snapshotVersion ?? 1) || snapshot.seq > lastSeq) return fresh;
    return { state: snapshot.state as S, seq: snapshot.seq, since: 0 };
  }

  #fold<C, E extends EventShape, S>(decider: Decider<C, E, S>, folded: Folded<S>, message: StoredMessage): Folded<S> {
    const lost = !follows(message, folded.seq);
    const next = { ...folded, seq: message.seq, since: folded.since + 1, gap: lost || folded.gap === true };
    if (lost)
      this.#log('error', 'the log has lost commits of an aggregate', {
        subject: message.subject,
        after: folded.seq,
        before: message.seq,
      });
    const read = readCommit(message);
    if ('commit' in read) return foldCommit(decider, next, read.commit);
    this.#log('warn', 'skipped what is no commit', {
      subject: message.subject,
      seq: message.seq,
      because: read.garbage,
    });
    return next;
  }

  #keep<C, E extends EventShape, S>(decider: Decider<C, E, S>, subject: string, folded: Folded<S>): void {
    // After an upgrade of this process nothing would fold it again, so it is never kept.
    if (folded.unknown) return this.#cache.delete(subject);
    const due = folded.since >= (decider.snapshotEvery ?? SNAPSHOT_EVERY);
    const entry = due && this.#snapshot(decider, subject, folded) ? { ...folded, since: 0 } : folded;
    this.#cache.put(subject, entry);
  }

  /** Begun, not awaited: a snapshot that fails only makes the next load longer. */
  #snapshot<C, E extends EventShape, S>(
    decider: Decider<C, E, S>,
    subject: string,
    { state, seq }: Folded<S>,
  ): boolean {
    if (!this.#snapshots || this.#unstorable.has(decider.subject)) return false;
    if (!isJson(state)) {
      this.#unstorable.add(decider.subject);
      this.#log('warn', 'a state that JSON cannot hold gets no snapshots', { decider: decider.subject });
      return false;
    }
    const version = decider.snapshotVersion ?? 1;
    this.#snapshots.put(subject, { seq, version, state }).catch((error: unknown) => {
      this.#log('warn', 'no snapshot could be written', { subject, error: String(error) });
    });
    return true;
  }
}

function decideOn<C, E extends EventShape, S>(
  decider: Decider<C, E, S>,
  { state, unknown }: Folded<S>,
  command: C,
  subject: string,
): E[] {
  if (!unknown) return decider.decide(command, state);
  const { type, version, seq } = unknown;
  throw failedPrecondition('id', 'was written by a newer release', 'upgrade this service', {
    reason: 'invalid_state',
    details: { subject, type, version, seq },
  });
}

/** Whether nothing was lost before a commit: it names the sequence that it was decided on. One that names none is believed. */
function follows({ headers }: StoredMessage, seq: number): boolean {
  const expected = headers?.get(EXPECTED) ?? '';
  return expected === '' || expected === String(seq);
}

/** The envelope's meta goes along with each event; what only a newer release knows is remembered, and left out. */
function foldCommit<C, E extends EventShape, S>(
  decider: Decider<C, E, S>,
  folded: Folded<S>,
  { commit_id, at, actor, workspace, events }: CommitEnvelope,
): Folded<S> {
  const { gap, ...before } = folded;
  let { state, unknown } = before;
  for (const recorded of events) {
    const event = newest({ ...recorded, at, actor, workspace, ...(gap && { gap }) }, decider);
    const next = event && decider.evolve(state, event as unknown as E & EventMeta);
    if (event === null || next === undefined) {
      unknown ??= { type: recorded.type, version: recorded.version, seq: before.seq };
    } else {
      state = next as S;
    }
  }
  return { ...before, state, last: commit_id, ...(unknown && { unknown }) };
}

function isJson(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  if (typeof value !== 'object') return typeof value !== 'bigint' && typeof value !== 'function';
  if (Array.isArray(value)) return value.every(isJson);
  const prototype: unknown = Object.getPrototypeOf(value);
  return (prototype === Object.prototype || prototype === null) && Object.values(value).every(isJson);
}
