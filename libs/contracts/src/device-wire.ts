import { createPublicKey, verify } from 'node:crypto';

/**
 * What a device and remote-ops say to each other: JSON text frames on a WebSocket that the device opens, one message
 * each. Both sides build their frames from here. Source: agent-server, section 20.
 */

/** Bytes of one frame, either way. */
export const DEVICE_FRAME_LIMIT = 16 * 1024 * 1024;
/** Levels of arrays and objects that a frame may nest. */
export const DEVICE_JSON_DEPTH = 64;
export const DEVICE_HEARTBEAT_MS = 5_000;
/** A connection on which nothing came for longer is dead. */
export const DEVICE_SILENCE_MS = 15_000;
/** Bytes of a file that is read or written in one call. */
export const DEVICE_FILE_LIMIT = 10 * 1024 * 1024;

export const DEVICE_CLOSE = {
  normal: 1000,
  goingAway: 1001,
  noName: 4001,
  alreadyConnected: 4002,
  heartbeatTimeout: 4003,
  notRegistered: 4004,
  refused: 4005,
} as const;

export const DEVICE_ACTIONS = ['bash', 'read', 'write', 'edit', 'glob', 'grep', 'file.stat'] as const;
export type DeviceAction = (typeof DEVICE_ACTIONS)[number];

/** Name of a machine: a key of `machines.json` and what a device calls itself. */
export const DEVICE_NAME_PATTERN = /^[A-Za-z0-9_][A-Za-z0-9._:-]{0,63}$/;

export interface HelloFrame {
  type: 'hello';
  device: string;
  platform: string;
  capabilities: string[];
  version?: string;
  /** Ed25519, the 32 raw bytes as base64url. */
  public_key?: string;
  /** 32 random bytes as base64url. */
  nonce?: string;
  join_code?: string;
}

export interface ChallengeFrame {
  type: 'challenge';
  nonce: string;
  /** Ed25519, the 32 raw bytes as base64url. */
  server_key: string;
  /** Over `challengeBytes`, base64url. */
  signature: string;
}

export interface ProofFrame {
  type: 'proof';
  /** Over `proofBytes`, base64url. */
  signature: string;
}

/** The proof held: the device is connected, and commands may follow. */
export interface WelcomeFrame {
  type: 'welcome';
  device: string;
}

export interface HeartbeatFrame {
  type: 'heartbeat';
  device: string;
  /** Milliseconds since 1970 by the device's clock. */
  timestamp: number;
}

export interface CommandFrame {
  type: 'command';
  /** 16 hex digits. */
  commandId: string;
  action: DeviceAction;
  params: Record<string, unknown>;
  /** Milliseconds that the server waits for the result. */
  timeout: number;
}

export interface CancelFrame {
  type: 'cancel';
  commandId: string;
}

export type ResultFrame =
  | { type: 'result'; commandId: string; success: true; data: Record<string, unknown> }
  | {
      type: 'result';
      commandId: string;
      success: false;
      /** `<field> <problem>; <fix>` */
      error: string;
      /** What a bare text cannot say; an older client leaves it out. */
      kind?: string;
      reason?: string;
      field?: string;
      details?: Record<string, unknown>;
    };

export type DeviceFrame = HelloFrame | ProofFrame | HeartbeatFrame | ResultFrame;
export type ServerFrame = ChallengeFrame | WelcomeFrame | CommandFrame | CancelFrame;

/** One `AGENTS.md` or `AGENTS.local.md` above a file, as the device sends it. */
export interface InstructionFile {
  path: string;
  content: string;
  mtimeMs: number;
  /** It is the very file that the command was about. */
  target?: true;
}

const encoder = new TextEncoder();

// JSON arrays, so that no two different sets of values give the same bytes; the first entry keeps the purposes apart.

/** What the server signs, to show a device that it is the one it joined. */
export const challengeBytes = (clientNonce: string, device: string): Uint8Array =>
  encoder.encode(JSON.stringify(['cortex-device-server-v1', clientNonce, device]));

/** What a device signs, to show that it holds the key of its name; bound to this connection and this server. */
export const proofBytes = (clientNonce: string, serverNonce: string, device: string, serverKey: string): Uint8Array =>
  encoder.encode(JSON.stringify(['cortex-device-v1', clientNonce, serverNonce, device, serverKey]));

/** True when `signature` over `bytes` was made by the holder of the Ed25519 key `publicKey`; both are base64url. */
export function signedBy(publicKey: string, bytes: Uint8Array, signature: string): boolean {
  try {
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: publicKey }, format: 'jwk' });
    return verify(null, bytes, key, Buffer.from(signature, 'base64url'));
  } catch {
    return false; // no key of this kind
  }
}
