import { timingSafeEqual } from 'node:crypto';
import { isCortexError, NO_WORKSPACE, sha256Hex } from '@cortex/contracts';
import { WAITPOINT_ID_PATTERN } from '@cortex/contracts/waitpoint';
import type { EventStore } from '@cortex/eventstore';
import { CONFIG, LOG, STORE } from '@cortex/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { commit, newNonce, type Deed } from '../commit.js';
import type { Config } from '../config.js';
import { isThere, type Waitpoint } from '../waitpoint/state.js';
import { waitpoint, type RecordSignal } from '../waitpoint/waitpoint.decider.js';
import { Places } from './places.js';
import { Rejections, type Rejection } from './rejections.js';
import { signalText, type RawSignal } from './signal-text.js';

export interface Signal extends RawSignal {
  id: unknown;
  secret: unknown;
  /** `webhook`, `spool` or `device:<name>`. */
  source: string;
  /** The same key is recorded once for one waitpoint. */
  dedupe_key?: string | undefined;
}

export type Outcome =
  | { is: 'accepted'; fired: boolean; rate_limited: boolean; duplicate: boolean }
  | { is: 'gone'; state: string; resolved_at: string | null }
  | { is: 'unknown' | 'wrong_secret' | 'too_many_misses' | 'too_many_signals' };

/** Takes signals in, wherever they come from. Source: agent-server, section 19. */
@Injectable()
export class Signals {
  constructor(
    @Inject(STORE) private readonly store: EventStore,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOG) private readonly log: Logger,
    private readonly places: Places,
    private readonly rejections: Rejections,
  ) {}

  async take(signal: Signal): Promise<Outcome> {
    const { source } = signal;
    const id = typeof signal.id === 'string' && WAITPOINT_ID_PATTERN.test(signal.id) ? signal.id : null;
    const place = id === null ? null : await this.#place(id);
    if (id === null || place === null) return this.#missed({ reason: 'unknown_id', waitpoint_id: id, source });
    const workspace = place === NO_WORKSPACE ? null : place;
    const { state } = await this.store.load(waitpoint, workspace, id);
    if (!isThere(state)) return this.#missed({ reason: 'unknown_id', waitpoint_id: id, source });
    const deed: Deed = { workspace, id, actor: { kind: 'external', id: source }, session: state };
    if (!isSecret(signal.secret, state.secret_sha256)) {
      const outcome = await this.#missed({ reason: 'wrong_secret', waitpoint_id: id, source });
      if (outcome.is === 'wrong_secret') await this.#reject(deed, 'wrong_secret');
      return outcome;
    }
    return this.#record(deed, state, signal);
  }

  async #record(deed: Deed, before: Waitpoint, signal: Signal): Promise<Outcome> {
    const { source, dedupe_key = null } = signal;
    const command: RecordSignal = {
      type: 'RecordSignal',
      at: new Date().toISOString(),
      ...signalText(signal),
      source,
      dedupe_key,
      spooled: source !== 'webhook',
      nonce: newNonce(),
      max_wakes_per_hour: this.config.CORTEX_WAITPOINT_MAX_WAKES_PER_HOUR,
    };
    try {
      const { events, duplicate } = await commit(this.store, deed, command);
      const has = (type: string) => events.some((event) => event.type === type);
      if (has('WaitpointExpired')) return await this.#late(deed, 'expired', command.at);
      return {
        is: 'accepted',
        fired: has('WaitpointFired'),
        rate_limited: has('WaitpointWakeWithheld'),
        duplicate: duplicate || events.length === 0,
      };
    } catch (error) {
      if (!isCortexError(error)) throw error;
      if (error.kind === 'resource_exhausted') return { is: 'too_many_signals' };
      // Somebody else resolved or removed it meanwhile, so what was loaded before does not tell.
      if (error.kind === 'not_found') return { is: 'unknown' };
      if (error.reason !== 'invalid_state' || error.details?.['state'] === undefined) throw error;
      const { state, resolved_at } = error.details as { state: string; resolved_at: string | null };
      return this.#late(deed, state, resolved_at ?? before.resolved_at);
    }
  }

  /** A place that was made a moment ago may not be in the view yet; it is waited for while misses are few. */
  async #place(id: string): Promise<string | null> {
    const found = await this.places.find(id);
    if (found !== null || this.rejections.usedUp) return found;
    return this.places.findSurely(id);
  }

  async #missed(rejection: Rejection & { reason: 'unknown_id' | 'wrong_secret' }): Promise<Outcome> {
    if (!(await this.rejections.miss(rejection))) return { is: 'too_many_misses' };
    this.log.warn(rejection, 'a signal was refused');
    return { is: rejection.reason === 'unknown_id' ? 'unknown' : 'wrong_secret' };
  }

  async #late(deed: Deed, state: string, resolved_at: string | null): Promise<Outcome> {
    await this.rejections.late({ reason: 'late', waitpoint_id: deed.id, source: deed.actor.id });
    await this.#reject(deed, 'late');
    return { is: 'gone', state, resolved_at };
  }

  /** A record for the waitpoint's history; nothing depends on it. */
  async #reject(deed: Deed, reason: 'wrong_secret' | 'late'): Promise<void> {
    await commit(this.store, deed, { type: 'RejectSignal', reason, source: deed.actor.id }).catch((error: unknown) =>
      this.log.warn({ err: error, waitpoint_id: deed.id }, 'a refused signal could not be recorded'),
    );
  }
}

/** Of two hashes, so that neither length nor time tells anything of the secret. */
const isSecret = (given: unknown, sha256: string): boolean =>
  timingSafeEqual(Buffer.from(sha256Hex(typeof given === 'string' ? given : ''), 'hex'), Buffer.from(sha256, 'hex'));
