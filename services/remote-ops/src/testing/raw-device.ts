import { createPublicKey, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { proofBytes } from '@cortex/contracts/device-wire';
import { WebSocket } from 'ws';

type Frame = Record<string, unknown>;

/** A device that a test plays by hand, frame by frame, lies included. */
export class RawDevice implements AsyncDisposable {
  readonly frames: Frame[] = [];
  readonly closed: Promise<{ code: number; reason: string }>;
  #wake: (() => void)[] = [];

  private constructor(readonly socket: WebSocket) {
    socket.on('message', (data) => {
      this.frames.push(JSON.parse((data as Buffer).toString()) as Frame);
      this.#wake.splice(0).forEach((wake) => wake());
    });
    socket.on('error', () => undefined);
    this.closed = once(socket, 'close').then(([code, reason]) => ({
      code: code as number,
      reason: (reason as Buffer).toString(),
    }));
  }

  /** Rejects with the HTTP status when the upgrade is refused. */
  static async dial(port: number, headers: Record<string, string>, path = '/'): Promise<RawDevice> {
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers, maxPayload: 64 * 1024 * 1024 });
    const device = new RawDevice(socket);
    await new Promise<void>((resolve, reject) => {
      socket.on('open', resolve);
      socket.on('unexpected-response', (_request, response) => {
        reject(new Error(`HTTP ${response.statusCode}`));
        response.destroy();
      });
      socket.on('error', reject);
    });
    return device;
  }

  send(frame: unknown): void {
    this.socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
  }

  /** The next frame of a type, from those that came or will come. */
  async next(type: string, limitMs = 5_000): Promise<Frame> {
    const until = Date.now() + limitMs;
    for (;;) {
      const at = this.frames.findIndex((frame) => frame['type'] === type);
      if (at !== -1) return this.frames.splice(at, 1)[0]!;
      if (Date.now() > until) throw new Error(`no ${type} came in ${limitMs} ms`);
      await Promise.race([
        new Promise<void>((resolve) => this.#wake.push(resolve)),
        this.closed.then(({ code, reason }) => Promise.reject(new Error(`closed ${code} ${reason}`))),
        new Promise((resolve) => setTimeout(resolve, 100)),
      ]);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.terminate();
    await this.closed;
  }
}

export interface RawKey {
  publicKey: string;
  privateKey: KeyObject;
}

export function rawKey(): RawKey {
  const { privateKey } = generateKeyPairSync('ed25519');
  return { privateKey, publicKey: createPublicKey(privateKey).export({ format: 'jwk' }).x! };
}

export interface JoinOptions {
  port: number;
  token: string;
  device: string;
  key: RawKey;
  joinCode?: string;
  /** Signs the proof in the place of `key`. */
  signer?: RawKey;
  platform?: string;
}

/** Hello, challenge, proof; resolves when welcomed, rejects with `closed <code> <reason>`. */
export async function joinRaw(options: JoinOptions): Promise<RawDevice> {
  const { port, token, device: name, key, joinCode, signer = key, platform = 'linux' } = options;
  const device = await RawDevice.dial(port, { 'x-cortex-token': token });
  const nonce = randomBytes(32).toString('base64url');
  device.send({
    type: 'hello',
    device: name,
    platform,
    capabilities: ['rg'],
    public_key: key.publicKey,
    nonce,
    ...(joinCode !== undefined && { join_code: joinCode }),
  });
  const challenge = await device.next('challenge');
  const bytes = proofBytes(nonce, challenge['nonce'] as string, name, challenge['server_key'] as string);
  device.send({ type: 'proof', signature: sign(null, bytes, signer.privateKey).toString('base64url') });
  await device.next('welcome');
  return device;
}
