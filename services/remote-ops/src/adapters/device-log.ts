import { randomUUID } from 'node:crypto';
import type { EventStore } from '@cortex/eventstore';
import { LOG, STORE } from '@cortex/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { device, deviceId, type DeviceCommand } from '../device/device.decider.js';

/** Aggregate of refusals that no registered machine stands behind; no machine can have this name. */
const NOBODY = '-unregistered';
const REPEAT_MS = 60_000;

/** Commits of devices that nobody called for: they came, went or were refused. */
@Injectable()
export class DeviceLog {
  readonly #rejected = new Map<string, number>();
  readonly #pending = new Set<Promise<void>>();

  constructor(
    @Inject(STORE) private readonly store: EventStore,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  /** Digest of the key that proves a name now; null when it has none. */
  async keyOf(name: string): Promise<string | null> {
    return (await this.store.load(device, null, deviceId(name))).state.key;
  }

  async execute(name: string, command: DeviceCommand): Promise<void> {
    const id = randomUUID();
    await this.store.execute(device, null, deviceId(name), command, {
      commitId: id,
      at: new Date().toISOString(),
      actor: { kind: 'device', id: name },
      correlation_id: id,
      causation_id: id,
    });
  }

  /** For what must not hold up anything: a lost device is lost whether or not the log can be reached. */
  note(name: string, command: DeviceCommand): void {
    const noted = this.execute(name, command)
      .catch((error: unknown) =>
        this.log.warn({ err: error, device: name, type: command.type }, 'an event of a device could not be recorded'),
      )
      .finally(() => this.#pending.delete(noted));
    this.#pending.add(noted);
  }

  /** Resolves when everything noted so far is recorded or given up. */
  async settled(): Promise<void> {
    await Promise.all(this.#pending);
  }

  /** A device that keeps knocking is recorded once a minute: the log must not grow by who knocks. */
  rejected(name: string | null, code: number, reason: string): void {
    const key = `${code} ${name}`;
    const now = Date.now();
    if ((this.#rejected.get(key) ?? 0) > now - REPEAT_MS) return;
    if (this.#rejected.size > 1_000) this.#rejected.clear();
    this.#rejected.set(key, now);
    this.note(name ?? NOBODY, { type: 'RejectDevice', device: name, code, reason });
  }
}
