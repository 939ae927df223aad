import { answer, ask, readRequest, type Bus, type BusMessage, type BusSubscription } from '@cortex/bus';
import { isCortexError, mayCall, subjects, toWireError, type BusRequest } from '@cortex/contracts';
import { DEVICE_CLOSE } from '@cortex/contracts/device-wire';
import { BUS, LOG } from '@cortex/service-kit';
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { DeviceCall, DeviceConnection } from './device-connection.js';
import { deviceFault } from './device-fault.js';

const SERVICE = 'remote-ops';
const TOPIC = subjects.live(SERVICE, 'devices');
const ANNOUNCE_MS = 3_000;
/** How long a connection has to show that it lives when its device dials anew. */
const ANSWER_MS = 2_000;
/** An instance that said nothing for so long holds no device any more. */
const FORGET_MS = 10_000;

/** What instances of this service tell each other on `cortex.live.remote-ops.devices`. */
const Hint = z.union([
  z.object({
    instance: z.string(),
    devices: z.record(z.string(), z.object({ platform: z.string() })),
    ask: z.boolean().optional(),
  }),
  z.object({ instance: z.string(), revoked: z.string() }),
]);
const Forwarded = z.object({
  device: z.string(),
  /** Asks only whether this instance holds the device. */
  probe: z.literal(true).optional(),
  commandId: z.string().optional(),
  action: z.enum(['bash', 'read', 'write', 'edit', 'glob', 'grep', 'file.stat']).optional(),
  params: z.record(z.string(), z.unknown()).optional(),
  timeoutMs: z.number().positive().optional(),
});

interface Elsewhere {
  instance: string;
  platform: string;
  heard: number;
}

/** Knows which device is connected, here or at another instance of this service, and brings commands there. */
@Injectable()
export class DeviceHub implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #here = new Map<string, DeviceConnection | 'arriving'>();
  readonly #elsewhere = new Map<string, Elsewhere>();
  readonly #forwarded = new Map<string, AbortController>();
  readonly #revokedListeners = new Set<(name: string) => void>();
  readonly #subscriptions: BusSubscription[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(
    @Inject(BUS) private readonly bus: Bus,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  onApplicationBootstrap(): void {
    const own = (name: string): string => subjects.node(SERVICE, this.bus.instance, name);
    this.#subscriptions.push(
      this.bus.subscribe(TOPIC, (message) => this.#onHint(message)),
      this.bus.subscribe(own('command'), (message) => void this.#onForwarded(message)),
      this.bus.subscribe(own('cancel'), (message) => this.#onCancel(message)),
    );
    this.#announce(true);
    this.#timer = setInterval(() => this.#announce(), ANNOUNCE_MS);
  }

  onApplicationShutdown(): void {
    clearInterval(this.#timer);
    this.#subscriptions.forEach((subscription) => subscription.unsubscribe());
  }

  /**
   * Takes the name for a device whose handshake is under way; false when it is connected already. A connection that gives
   * no sign of life is none: a machine that lost its network comes back before the old connection has timed out.
   */
  async reserve(name: string): Promise<boolean> {
    const held = this.#here.get(name);
    if (held !== undefined && (held === 'arriving' || (await held.answers(ANSWER_MS)))) return false;
    held?.close(DEVICE_CLOSE.heartbeatTimeout, 'came back on a new connection', 'heartbeat_timeout');
    if (this.#here.get(name) !== held) return false; // somebody else took it while we asked
    this.#here.set(name, 'arriving');
    const other = this.#elsewhere.get(name);
    if (other === undefined || !(await this.#holds(other.instance, name))) return true;
    this.#here.delete(name);
    return false;
  }

  release(name: string): void {
    if (this.#here.get(name) === 'arriving') this.#here.delete(name);
  }

  connected(connection: DeviceConnection): void {
    this.#here.set(connection.name, connection);
    this.#announce();
  }

  gone(connection: DeviceConnection): void {
    if (this.#here.get(connection.name) !== connection) return;
    this.#here.delete(connection.name);
    this.#announce();
  }

  /** Connections that this instance holds. */
  local(): DeviceConnection[] {
    return [...this.#here.values()].filter((held) => held !== 'arriving');
  }

  /** Platform of a device that is connected now, anywhere; undefined when it is not. */
  platformOf(name: string): string | undefined {
    const held = this.#here.get(name);
    if (held !== undefined && held !== 'arriving') return held.facts.platform;
    return this.#remote(name)?.platform;
  }

  isOnline(name: string): boolean {
    return this.platformOf(name) !== undefined;
  }

  /** Runs a command wherever the device is connected; `request` tells for whom. */
  async run(
    device: string,
    call: DeviceCall,
    request: BusRequest,
    signal: AbortSignal,
  ): Promise<Record<string, unknown>> {
    const held = this.#here.get(device);
    if (held !== undefined && held !== 'arriving') return held.run(call, signal);
    const other = this.#remote(device);
    if (other === undefined) throw deviceFault(device, 'offline', 'not connected');
    return this.#forward(other.instance, device, call, request, signal);
  }

  /** The key of this name is worth nothing from now on: its connection is closed, at whatever instance. */
  tellRevoked(name: string): void {
    this.#revokedListeners.forEach((listener) => listener(name));
    this.bus.publish(TOPIC, JSON.stringify({ instance: this.bus.instance, revoked: name }));
  }

  onRevoked(listener: (name: string) => void): void {
    this.#revokedListeners.add(listener);
  }

  #remote(name: string): Elsewhere | undefined {
    const other = this.#elsewhere.get(name);
    return other !== undefined && Date.now() - other.heard <= FORGET_MS ? other : undefined;
  }

  /** Asked, not believed: an instance that was killed is still announced for a while, and its devices come here. */
  async #holds(instance: string, device: string): Promise<boolean> {
    try {
      const subject = subjects.node(SERVICE, instance, 'command');
      const { data } = await ask(this.bus, subject, requestOf({ device, probe: true }, 2_000));
      return (data as { holds?: unknown }).holds === true;
    } catch {
      this.#elsewhere.delete(device);
      return false;
    }
  }

  async #forward(
    instance: string,
    device: string,
    call: DeviceCall,
    request: BusRequest,
    signal: AbortSignal,
  ): Promise<Record<string, unknown>> {
    const cancel = (): void =>
      this.bus.publish(subjects.node(SERVICE, instance, 'cancel'), JSON.stringify({ commandId: call.commandId }));
    signal.addEventListener('abort', cancel, { once: true });
    // A holder that was killed answers nothing, ever; but it also stops to say that it holds the device.
    const lost = new AbortController();
    const watch = setInterval(() => this.#remote(device)?.instance !== instance && lost.abort(), 1_000);
    try {
      // The holder ends the command in time; the second on top brings its word back.
      const deadline_ms = call.timeoutMs + 1_000;
      const subject = subjects.node(SERVICE, instance, 'command');
      const either = AbortSignal.any([signal, lost.signal]);
      const { data } = await ask(this.bus, subject, { ...request, args: { device, ...call }, deadline_ms }, either);
      return data as Record<string, unknown>;
    } catch (error) {
      if (!isCortexError(error) || error.details?.['failure'] !== undefined) throw error;
      if (error.kind === 'deadline_exceeded') throw deviceFault(device, 'timeout', `limit ${call.timeoutMs / 1000} s`);
      if (error.kind === 'cancelled' && !lost.signal.aborted)
        throw deviceFault(device, 'cancelled', 'the caller waits no longer');
      this.#elsewhere.delete(device);
      throw deviceFault(device, 'disconnected', 'the server that held it was lost');
    } finally {
      clearInterval(watch);
      signal.removeEventListener('abort', cancel);
    }
  }

  async #onForwarded(message: BusMessage): Promise<void> {
    if (!mayCall(message.subject, message.reply)) return;
    let reply: string;
    try {
      const { device, probe, commandId, action, params, timeoutMs } = Forwarded.parse(
        (await readRequest(this.bus, message)).args,
      );
      const held = this.#here.get(device);
      if (probe) {
        reply = JSON.stringify({ ok: true, data: { holds: held !== undefined } });
      } else if (held === undefined || held === 'arriving' || !commandId || !action || !timeoutMs) {
        throw deviceFault(device, 'offline', 'not connected');
      } else {
        const abort = new AbortController();
        this.#forwarded.set(commandId, abort);
        const data = await held
          .run({ commandId, action, params: params ?? {}, timeoutMs }, abort.signal)
          .finally(() => this.#forwarded.delete(commandId));
        reply = JSON.stringify({ ok: true, data });
      }
    } catch (error) {
      reply = JSON.stringify({ ok: false, error: toWireError(error) });
    }
    await answer(this.bus, message, reply).catch((error: unknown) =>
      this.log.warn({ err: error }, 'a forwarded command could not be answered'),
    );
  }

  #onCancel(message: BusMessage): void {
    if (message.subject !== subjects.node(SERVICE, this.bus.instance, 'cancel')) return; // as below
    const parsed = z.object({ commandId: z.string() }).safeParse(jsonOf(message));
    if (parsed.success) this.#forwarded.get(parsed.data.commandId)?.abort();
  }

  #onHint(message: BusMessage): void {
    // Who pulls a stored message can have it delivered here, under its own subject: nobody's hint (threat T81).
    if (message.subject !== TOPIC) return;
    const parsed = Hint.safeParse(jsonOf(message));
    if (!parsed.success || parsed.data.instance === this.bus.instance) return;
    const hint = parsed.data;
    if ('revoked' in hint) {
      this.#revokedListeners.forEach((listener) => listener(hint.revoked));
      return;
    }
    const heard = Date.now();
    for (const [name, other] of this.#elsewhere) {
      if (other.instance === hint.instance && !Object.hasOwn(hint.devices, name)) this.#elsewhere.delete(name);
    }
    for (const [name, { platform }] of Object.entries(hint.devices)) {
      this.#elsewhere.set(name, { instance: hint.instance, platform, heard });
    }
    if (hint.ask) this.#announce();
  }

  #announce(askBack = false): void {
    if (!this.bus.up) return;
    const devices = Object.fromEntries(this.local().map(({ name, facts }) => [name, { platform: facts.platform }]));
    this.bus.publish(TOPIC, JSON.stringify({ instance: this.bus.instance, devices, ...(askBack && { ask: true }) }));
  }
}

const jsonOf = (message: BusMessage): unknown => {
  try {
    return message.json();
  } catch {
    return null;
  }
};

const requestOf = (args: Record<string, unknown>, deadline_ms: number): BusRequest => ({
  v: 1,
  call_id: 'probe',
  workspace_id: null,
  principal: { type: 'system', id: SERVICE, roles: [] },
  scope: {},
  args,
  deadline_ms,
});
