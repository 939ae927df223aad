import { randomUUID } from 'node:crypto';
import { ask, type Bus } from '@cortex/bus';
import { isCortexError, subjects, unavailable, type CortexError } from '@cortex/contracts';
import { firstChars } from '@cortex/contracts/text';
import { redact, type EventStore } from '@cortex/eventstore';
import { BUS, LOG, STORE } from '@cortex/service-kit';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Logger } from 'pino';
import { z } from 'zod';
import { commit } from '../commit.js';
import { isThere, type Waitpoint } from '../waitpoint/state.js';
import { waitpoint } from '../waitpoint/waitpoint.decider.js';
import { wakeOf, type Wake } from '../waitpoint/wake-text.js';

const DELIVER = subjects.command('session', 'deliver');
const DELIVER_MS = 10_000;
const SELF = { kind: 'system', id: 'waitpoint' } as const;
const Delivered = z.object({ message_id: z.string() });

export type Woken =
  /** Told, or there was nothing to tell. */
  | 'done'
  /** Recorded as failed; the sweep tries it again. */
  | 'failed'
  /** The session service is away: no other wake will get through now. */
  | 'away';

/** Brings wakes to their sessions. What is to be told stands in the log alone, so any instance may, at any time. */
@Injectable()
export class Wakes implements OnApplicationShutdown {
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #turns = new Map<string, Promise<unknown>>();
  #stopped = false;

  constructor(
    @Inject(BUS) private readonly bus: Bus,
    @Inject(STORE) private readonly store: EventStore,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  onApplicationShutdown(): void {
    this.#stopped = true;
    this.#timers.forEach((timer) => clearTimeout(timer));
  }

  /**
   * Delivers the wake that is pending, if there is one; one after the other for one waitpoint. Errors: what the log says when
   * nothing can be recorded.
   */
  async now(workspace: string | null, id: string): Promise<Woken> {
    const before = this.#turns.get(id) ?? Promise.resolve();
    const turn = before.catch(() => undefined).then(() => this.#tell(workspace, id));
    this.#turns.set(id, turn);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(id) === turn) this.#turns.delete(id);
    }
  }

  /** The same in so many milliseconds, unless we stop before; then the next sweep does it. */
  later(workspace: string | null, id: string, ms: number): void {
    if (this.#stopped || this.#timers.has(id)) return;
    const wake = () => {
      this.#timers.delete(id);
      this.now(workspace, id).catch((error: unknown) =>
        this.log.warn({ err: error, waitpoint_id: id }, 'a wake is left to the next sweep'),
      );
    };
    this.#timers.set(id, setTimeout(wake, ms));
  }

  async #tell(workspace: string | null, id: string): Promise<Woken> {
    const { state } = await this.store.load(waitpoint, workspace, id);
    if (!isThere(state) || state.pending === null) return 'done';
    const { turn } = state.pending;
    const wake = wakeOf(state, state.pending);
    const deed = { workspace, id, actor: SELF, session: state };
    let message_id: string;
    try {
      ({ message_id } = await this.#send(workspace, state, wake, turn));
    } catch (error) {
      const fault = isCortexError(error) ? error : unavailable('session', 'gave an answer that is none', '');
      await commit(this.store, deed, { type: 'MarkWakeFailed', at: new Date().toISOString(), error: textOf(fault) });
      this.log.warn({ err: error, waitpoint_id: id }, 'a wake was not delivered; the sweep tries it again');
      return fault.kind === 'unavailable' ? 'away' : 'failed';
    }
    const { signal_nos } = wake;
    const { events } = await commit(this.store, deed, { type: 'MarkWakeDelivered', message_id, signal_nos, turn });
    const more = events.some(({ data }) => (data as { more?: boolean }).more === true);
    // It fired again while the wake was on its way.
    return more ? this.#tell(workspace, id) : 'done';
  }

  async #send(workspace: string | null, state: Waitpoint, { text }: Wake, turn: number) {
    const { id, session_id, channel, project } = state;
    const { data } = await ask(this.bus, DELIVER, {
      v: 1,
      call_id: randomUUID(),
      workspace_id: workspace,
      principal: { type: 'system', id: SELF.id, roles: [] },
      scope: { session_id, channel, ...(project !== null && { project }) },
      args: { session_id, channel, text, origin: 'external-signal', tag: `${id}:${turn}` },
      deadline_ms: DELIVER_MS,
    });
    return Delivered.parse(data);
  }
}

const textOf = (error: CortexError): string => firstChars(redact(error.message), 500);
