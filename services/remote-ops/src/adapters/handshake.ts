import { createHash, randomBytes } from 'node:crypto';
import { isCortexError } from '@cortex/contracts';
import {
  DEVICE_CLOSE,
  DEVICE_NAME_PATTERN,
  proofBytes,
  signedBy,
  type ServerFrame,
} from '@cortex/contracts/device-wire';
import type { WebSocket } from 'ws';
import type { DeviceKey, Enrolment } from '../device/device.decider.js';
import type { DeviceFacts } from './device-connection.js';
import type { DeviceHub } from './device-hub.js';
import type { DeviceLog } from './device-log.js';
import { parseFrame } from './frames.js';
import type { Machines } from './machines.js';
import { deviceKey, type ServerKey } from './server-key.js';

/** The connection is closed with this code; `device` is set once it is known to be a registered name. */
export class Refusal extends Error {
  constructor(
    readonly code: number,
    reason: string,
    readonly device: string | null,
  ) {
    super(reason);
  }
}

export interface HandshakeContext {
  machines: Machines;
  hub: DeviceHub;
  log: DeviceLog;
  key: ServerKey;
  enrolment: Enrolment;
}

/** The log cannot be reached: nobody's fault, so the device comes back. */
const TRY_AGAIN = 1013;

/**
 * From the first frame to a device that is connected and recorded: hello, challenge, proof, enrolment. Its name is taken at
 * the hub when this resolves. Rejects with a Refusal.
 */
export async function shakeHands(socket: WebSocket, context: HandshakeContext): Promise<DeviceFacts> {
  const { machines, hub, log, enrolment } = context;
  const frames = new FrameReader(socket);
  const hello = await frames.next('hello');
  const name = hello['device'];
  if (typeof name !== 'string' || name === '') throw new Refusal(DEVICE_CLOSE.noName, 'hello names no device', null);
  if (!DEVICE_NAME_PATTERN.test(name) || machines.get(name) === undefined) {
    throw new Refusal(DEVICE_CLOSE.notRegistered, 'not in machines.json', null);
  }
  const key = await proveKey(socket, frames, hello, name, context);
  if (key === null && enrolment !== 'off') {
    throw new Refusal(DEVICE_CLOSE.refused, 'hello shows no key; update the device client', name);
  }
  if (!(await hub.reserve(name))) {
    throw new Refusal(DEVICE_CLOSE.alreadyConnected, 'a device of this name is connected', name);
  }
  try {
    const facts = { name, ...factsOf(hello), keySha256: enrolment === 'off' ? null : (key?.key_sha256 ?? null) };
    if (key !== null) {
      const code = hello['join_code'];
      const code_sha256 = typeof code === 'string' ? joinCodeDigest(code) : undefined;
      const at = new Date().toISOString();
      await log.execute(name, { type: 'JoinDevice', at, device: name, key, code_sha256, enrolment });
    }
    const { platform, capabilities } = facts;
    const proved = enrolment === 'off' ? null : key;
    await log.execute(name, { type: 'ConnectDevice', device: name, key: proved, platform, capabilities });
    return facts;
  } catch (error) {
    hub.release(name);
    if (isCortexError(error) && error.kind === 'permission_denied') {
      throw new Refusal(DEVICE_CLOSE.refused, error.problem, name);
    }
    throw new Refusal(TRY_AGAIN, 'the server cannot record devices now', name);
  }
}

/** The key of the hello, once the device has shown that it holds it; null when it shows none. */
async function proveKey(
  socket: WebSocket,
  frames: FrameReader,
  hello: Record<string, unknown>,
  name: string,
  { key: server }: HandshakeContext,
): Promise<DeviceKey | null> {
  const { public_key, nonce } = hello;
  if (public_key === undefined && nonce === undefined) return null;
  const key = deviceKey(public_key);
  if (key === null || typeof nonce !== 'string' || !/^[\w-]{16,128}$/.test(nonce)) {
    throw new Refusal(DEVICE_CLOSE.refused, 'hello has a bad key or nonce', name);
  }
  const own = randomBytes(32).toString('base64url');
  send(socket, {
    type: 'challenge',
    nonce: own,
    server_key: server.publicKey,
    signature: server.challenge(nonce, name),
  });
  const proof = await frames.next('proof');
  const bytes = proofBytes(nonce, own, name, server.publicKey);
  if (typeof proof['signature'] !== 'string' || !signedBy(key.public_key, bytes, proof['signature'])) {
    throw new Refusal(DEVICE_CLOSE.refused, 'the proof is wrong', name);
  }
  return key;
}

export const send = (socket: WebSocket, frame: ServerFrame): void => socket.send(JSON.stringify(frame));

export const joinCodeDigest = (code: string): string => createHash('sha256').update(code.trim()).digest('hex');

/** What a device says of itself ends in events and lists, so only plain words pass. */
function factsOf(hello: Record<string, unknown>): { platform: string; capabilities: string[] } {
  const { platform, capabilities } = hello;
  const isWord = (value: unknown): value is string => typeof value === 'string' && /^[a-z0-9_-]{1,32}$/.test(value);
  return {
    platform: isWord(platform) ? platform : 'unknown',
    capabilities: Array.isArray(capabilities) ? capabilities.filter(isWord).slice(0, 16) : [],
  };
}

/** Hands out frames in order, of one type; others are ignored. Ends with the socket. */
class FrameReader {
  readonly #queue: Record<string, unknown>[] = [];
  #wake: (() => void) | undefined;
  #closed = false;

  constructor(socket: WebSocket) {
    socket.on('message', (data, binary) => {
      const frame = binary || this.#queue.length >= 8 ? null : parseFrame(data as Buffer);
      if (frame !== null) this.#queue.push(frame);
      this.#wake?.();
    });
    socket.on('close', () => {
      this.#closed = true;
      this.#wake?.();
    });
  }

  async next(type: string): Promise<Record<string, unknown>> {
    for (;;) {
      const frame = this.#queue.shift();
      if (frame?.['type'] === type) return frame;
      if (frame !== undefined) continue;
      if (this.#closed) throw new Refusal(DEVICE_CLOSE.normal, 'left during the handshake', null);
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
