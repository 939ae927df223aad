import { randomBytes } from 'node:crypto';
import {
  challengeBytes,
  DEVICE_FRAME_LIMIT,
  DEVICE_HEARTBEAT_MS,
  DEVICE_SILENCE_MS,
  proofBytes,
  signedBy,
  type ChallengeFrame,
  type DeviceFrame,
  type ServerFrame,
} from '@cortex/contracts/device-wire';
import WebSocket from 'ws';
import type { CommandRunner } from './commands.js';
import type { ClientConfig } from './config.js';
import type { Identity } from './identity.js';

/** How one connection ended. */
export interface Ended {
  /** Close code of the WebSocket, or `refused` (HTTP answer), `unreachable`, `wrong_server` (another key than the pinned one). */
  code: number | 'refused' | 'unreachable' | 'wrong_server';
  reason: string;
  /** The server had taken this device in. */
  welcomed: boolean;
}

const HANDSHAKE_MS = 10_000;

/**
 * One connection from dialling to its end. No command is looked at before the server has shown its key and has taken
 * the device in. Commands that run when the connection is lost go on; their results are dropped with the socket.
 */
export function connectOnce(
  config: ClientConfig,
  identity: Identity,
  runner: CommandRunner,
  { signal, onWelcome }: { signal: AbortSignal; onWelcome: () => void },
): Promise<Ended> {
  return new Promise((resolve) => {
    const socket = new WebSocket(config.url, {
      headers: { 'x-cortex-token': config.token },
      handshakeTimeout: HANDSHAKE_MS,
      maxPayload: DEVICE_FRAME_LIMIT,
      perMessageDeflate: false,
      followRedirects: false,
    });
    const nonce = randomBytes(32).toString('base64url');
    let ended: Partial<Ended> = {};
    let serverKey: string | null = null;
    let welcomed = false;
    let heard = Date.now();
    let beat: NodeJS.Timeout | undefined;

    const send = (frame: DeviceFrame): void => {
      if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame));
    };
    const leave = (code: Ended['code'], reason: string): void => {
      ended = { code, reason };
      socket.terminate();
    };
    const tooLate = setTimeout(
      () => leave('unreachable', 'the server did not finish the handshake in 10 s'),
      HANDSHAKE_MS,
    );
    const stop = (): void => {
      socket.close(1000, 'stopped');
      setTimeout(() => socket.terminate(), 1_000).unref(); // a server that hangs does not keep us
    };
    signal.addEventListener('abort', stop, { once: true });

    const answerChallenge = (frame: ChallengeFrame): void => {
      const known = identity.pinned();
      if (known !== null && known !== frame.server_key) {
        leave('wrong_server', 'another server key than the one this device joined');
      } else if (!signedBy(frame.server_key, challengeBytes(nonce, config.device), frame.signature)) {
        leave('wrong_server', 'the server cannot prove the key it shows');
      } else {
        serverKey = frame.server_key;
        const bytes = proofBytes(nonce, frame.nonce, config.device, serverKey);
        send({ type: 'proof', signature: identity.sign(bytes) });
      }
    };

    const onFrame = (frame: ServerFrame): void => {
      switch (frame.type) {
        case 'challenge':
          if (serverKey === null) answerChallenge(frame);
          return;
        case 'welcome':
          if (serverKey === null || welcomed) return; // who showed no key gets no commands run
          welcomed = true;
          clearTimeout(tooLate);
          if (identity.pinned() === null) identity.pin(serverKey);
          onWelcome();
          return;
        case 'command':
          if (welcomed) void runner.run(frame).then((result) => result && send(result));
          return;
        case 'cancel':
          if (welcomed) runner.cancel(frame.commandId);
      }
    };

    socket.on('open', () => {
      send({
        type: 'hello',
        device: config.device,
        platform: process.platform,
        capabilities: runner.capabilities,
        public_key: identity.publicKey,
        nonce,
        ...(config.joinCode && { join_code: config.joinCode }),
      });
      beat = setInterval(() => {
        if (Date.now() - heard > DEVICE_SILENCE_MS) return leave('unreachable', 'the server went silent');
        send({ type: 'heartbeat', device: config.device, timestamp: Date.now() });
        if (socket.readyState === WebSocket.OPEN) socket.ping(); // its pong is the only sign of life of an idle server
      }, DEVICE_HEARTBEAT_MS);
    });
    socket.on('pong', () => (heard = Date.now()));
    socket.on('message', (data, binary) => {
      heard = Date.now();
      if (binary) return;
      const frame = parse((data as Buffer).toString('utf8'));
      if (frame) onFrame(frame);
    });
    socket.on('unexpected-response', (request, response) => {
      ended = { code: 'refused', reason: `HTTP ${response.statusCode} ${response.statusMessage ?? ''}`.trim() };
      response.resume();
      request.destroy();
      socket.terminate();
    });
    socket.on('error', (error) => {
      ended.code ??= 'unreachable';
      ended.reason ??= error.message;
    });
    socket.on('close', (code, reason) => {
      clearTimeout(tooLate);
      clearInterval(beat);
      signal.removeEventListener('abort', stop);
      resolve({ code: ended.code ?? code, reason: ended.reason ?? reason.toString('utf8'), welcomed });
    });
    if (signal.aborted) stop();
  });
}

/** Frames that are no JSON object, or of a type that this release does not know, are nothing to it. */
function parse(text: string): ServerFrame | null {
  try {
    const value = JSON.parse(text) as (ServerFrame & { id?: string }) | null;
    if (typeof value !== 'object' || value === null) return null;
    if (
      (value.type === 'command' || value.type === 'cancel') &&
      value.commandId === undefined &&
      value.id !== undefined
    ) {
      value.commandId = value.id;
    }
    return value;
  } catch {
    return null;
  }
}
