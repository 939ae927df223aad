import { isCortexError, resourceExhausted, type CortexError } from '@cortex/contracts';
import {
  DEVICE_SILENCE_MS,
  type CancelFrame,
  type CommandFrame,
  type DeviceAction,
} from '@cortex/contracts/device-wire';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { FailureReason } from '../command/command.decider.js';
import { deviceError, deviceFault } from './device-fault.js';
import { commandIdIn, parseFrame } from './frames.js';

export interface DeviceFacts {
  name: string;
  platform: string;
  capabilities: string[];
  /** SHA-256 of the key it proved; null where names are taken on the shared token's word. */
  keySha256: string | null;
}

export interface DeviceCall {
  commandId: string;
  action: DeviceAction;
  params: Record<string, unknown>;
  /** Milliseconds until the command counts as timed out. */
  timeoutMs: number;
}

export interface Lost {
  failure: FailureReason;
  cause: string;
  /** Commands that waited for an answer when it was lost. */
  inFlight: number;
}

interface InFlight {
  resolve: (data: Record<string, unknown>) => void;
  reject: (error: CortexError) => void;
}

const MOST_IN_FLIGHT = 256;

/** The live connection of one device, and the commands that wait for its answers. */
export class DeviceConnection {
  readonly connectedAt = new Date().toISOString();
  readonly #waiting = new Map<string, InFlight>();
  #heard = Date.now();
  #bytes = 0;
  #lost: Lost | null = null;

  constructor(
    readonly facts: DeviceFacts,
    private readonly socket: WebSocket,
    private readonly tcp: Socket,
  ) {
    socket.on('message', (data, binary) => {
      if (!binary) this.#onFrame(data as Buffer);
    });
  }

  get name(): string {
    return this.facts.name;
  }

  get inFlight(): number {
    return this.#waiting.size;
  }

  /** The data of the device's result. Rejects with a CortexError whose `details.failure` is the word of the event. */
  run(call: DeviceCall, signal?: AbortSignal): Promise<Record<string, unknown>> {
    const { commandId, action, params, timeoutMs } = call;
    if (this.#lost) return Promise.reject(deviceFault(this.name, this.#lost.failure, this.#lost.cause));
    if (this.#waiting.size >= MOST_IN_FLIGHT || this.#waiting.has(commandId)) {
      return Promise.reject(
        resourceExhausted('device', `${this.name} has too many commands under way`, 'wait for one to end'),
      );
    }
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        this.#waiting.delete(commandId);
      };
      const giveUp = (error: CortexError): void => {
        if (!this.#waiting.has(commandId)) return;
        end();
        this.#send({ type: 'cancel', commandId });
        reject(error);
      };
      const onAbort = (): void => {
        const cause: unknown = signal?.reason;
        const timedOut = isCortexError(cause) && cause.kind === 'deadline_exceeded';
        giveUp(deviceFault(this.name, timedOut ? 'timeout' : 'cancelled', 'the caller waits no longer'));
      };
      const timer = setTimeout(
        () => giveUp(deviceFault(this.name, 'timeout', `limit ${timeoutMs / 1000} s`)),
        timeoutMs,
      );
      this.#waiting.set(commandId, {
        resolve: (data) => {
          end();
          resolve(data);
        },
        reject: (error) => {
          end();
          reject(error);
        },
      });
      if (signal?.aborted) return onAbort();
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#send({ type: 'command', commandId, action, params, timeout: timeoutMs }, (error) => {
        this.#waiting.get(commandId)?.reject(deviceFault(this.name, 'send_failed', error.message));
      });
    });
  }

  /** Milliseconds since the last byte came; a large frame under way is a sign of life too. */
  silentFor(now = Date.now()): number {
    if (this.tcp.bytesRead !== this.#bytes) {
      this.#bytes = this.tcp.bytesRead;
      this.#heard = now;
    }
    return now - this.#heard;
  }

  /** Asks the other side for a sign of life; false when none came in time. */
  async answers(limitMs: number): Promise<boolean> {
    const before = this.tcp.bytesRead;
    this.socket.ping();
    for (const until = Date.now() + limitMs; Date.now() < until; await sleep(50)) {
      if (this.tcp.bytesRead !== before) return true;
    }
    return false;
  }

  get isSilent(): boolean {
    return this.silentFor() > DEVICE_SILENCE_MS;
  }

  /** Fails what is in flight at once and closes. A peer that does not close its side is cut off after a second. */
  close(code: number, reason: string, failure: FailureReason = 'disconnected'): void {
    this.lose(failure, reason);
    this.socket.close(code, reason);
    setTimeout(() => this.socket.terminate(), 1_000).unref();
  }

  /** From here on nothing runs over this connection; results that still come are dropped. The first cause counts. */
  lose(failure: FailureReason, cause: string): Lost {
    this.#lost ??= { failure, cause, inFlight: this.#waiting.size };
    for (const { reject } of this.#waiting.values()) reject(deviceFault(this.name, failure, cause));
    return this.#lost;
  }

  #send(frame: CommandFrame | CancelFrame, failed: (error: Error) => void = () => undefined): void {
    this.socket.send(JSON.stringify(frame), (error) => error && failed(error));
  }

  #onFrame(bytes: Buffer): void {
    this.#heard = Date.now();
    const frame = parseFrame(bytes);
    const id = frame === null ? commandIdIn(bytes) : (frame['commandId'] ?? frame['id']);
    const waiting = typeof id === 'string' ? this.#waiting.get(id) : undefined;
    if (waiting === undefined) return; // a heartbeat, a second answer, or one that nobody waits for
    if (frame === null) {
      waiting.reject(deviceFault(this.name, 'device_error', 'no JSON, or nested too deep'));
    } else if (frame['type'] === 'result') {
      const { success, data } = frame;
      if (success === true && typeof data === 'object' && data !== null)
        waiting.resolve(data as Record<string, unknown>);
      else waiting.reject(deviceError(this.name, frame));
    }
  }
}
