import { failedPrecondition, hashedToken, isToken, permissionDenied } from '@cortex/contracts';
import type { DeviceEvent } from '@cortex/contracts/device';
import { defineDecider } from '@cortex/eventstore';

export type Enrolment = 'join-code' | 'first-use' | 'off';

export interface DeviceKey {
  /** Ed25519, the 32 raw bytes as base64url. */
  public_key: string;
  /** SHA-256 of these bytes, hex. */
  key_sha256: string;
}

export type DeviceCommand =
  | { type: 'AddDevice'; device: string }
  | { type: 'IssueJoinCode'; device: string; code_sha256: string; expires_at: string }
  | { type: 'JoinDevice'; at: string; device: string; key: DeviceKey; code_sha256?: string; enrolment: Enrolment }
  /** `key` is null where names are taken on the shared token's word. */
  | { type: 'ConnectDevice'; device: string; key: DeviceKey | null; platform: string; capabilities: string[] }
  | { type: 'DisconnectDevice'; device: string; reason: string; in_flight: number }
  | { type: 'RejectDevice'; device: string | null; code: number; reason: string }
  | { type: 'RevokeDevice'; device: string; by: string };

interface State {
  added: boolean;
  /** SHA-256 of the key that proves the name. */
  key: string | null;
  /** The one code that may still be used; a new one replaces it. */
  code: { sha256: string; expires_at: string } | null;
  revoked: boolean;
}

/** The aggregate's id: the device's name, or its hash where the name cannot stand in a subject. */
export const deviceId = (device: string): string => (isToken(device) ? device : hashedToken(device));

const refused = (problem: string): Error =>
  permissionDenied('device', problem, 'get a join code with: cortex device join <name>');

/** Who may speak as a machine. Holds the key's digest and the open join code, no more. */
export const device = defineDecider<DeviceCommand, DeviceEvent, State>({
  subject: 'remote-ops.device',
  initial: { added: false, key: null, code: null, revoked: false },
  decide(command, state) {
    const added = (name: string): DeviceEvent[] =>
      state.added ? [] : [{ type: 'DeviceAdded', data: { device: name } }];
    switch (command.type) {
      case 'AddDevice':
        return added(command.device);
      case 'IssueJoinCode': {
        const { device, code_sha256, expires_at } = command;
        return [...added(device), { type: 'DeviceJoinCodeIssued', data: { device, code_sha256, expires_at } }];
      }
      case 'JoinDevice': {
        const { device, key, code_sha256, enrolment } = command;
        if (state.key === key.key_sha256) return []; // known; that it holds the key was proved before
        if (enrolment === 'off') return [];
        const codeFits = state.code !== null && state.code.sha256 === code_sha256 && command.at < state.code.expires_at;
        if (state.key !== null) {
          if (!codeFits) throw refused('shows another key than the one of its name');
          return [{ type: 'DeviceKeyRotated', data: { device, ...key, by: 'join-code' } }];
        }
        // A revoked name comes back by a join code only: whoever lost it still holds the shared token.
        const free = enrolment === 'first-use' && !state.revoked;
        if (!codeFits && !free) throw refused(reasonOf(state, code_sha256));
        const by = codeFits ? 'join-code' : 'first-use';
        return [...added(device), { type: 'DeviceEnrolled', data: { device, ...key, by } }];
      }
      case 'ConnectDevice': {
        const { device, key, platform, capabilities } = command;
        // Decided on the same state as a revocation, so that the two cannot pass each other.
        if (key !== null && state.key !== key.key_sha256) throw refused('was revoked or has another key by now');
        return [...added(device), { type: 'DeviceConnected', data: { device, platform, capabilities } }];
      }
      case 'DisconnectDevice': {
        const { device, reason, in_flight } = command;
        return [{ type: 'DeviceDisconnected', data: { device, reason, in_flight } }];
      }
      case 'RejectDevice': {
        const { device, code, reason } = command;
        return [{ type: 'DeviceRejected', data: { device, code, reason } }];
      }
      case 'RevokeDevice': {
        const { device, by } = command;
        if (!state.added && state.key === null) {
          throw failedPrecondition('name', 'was never added', 'see cortex device list', { reason: 'invalid_state' });
        }
        const forgotten = state.revoked && state.key === null && state.code === null;
        return forgotten ? [] : [{ type: 'DeviceRevoked', data: { device, by } }];
      }
    }
  },
  evolve(state, { type, data }) {
    switch (type) {
      case 'DeviceAdded':
        return { ...state, added: true };
      case 'DeviceJoinCodeIssued':
        return { ...state, code: { sha256: data.code_sha256, expires_at: data.expires_at } };
      case 'DeviceEnrolled':
      case 'DeviceKeyRotated':
        return { ...state, key: data.key_sha256, code: null, revoked: false };
      case 'DeviceRevoked':
        return { ...state, key: null, code: null, revoked: true };
      case 'DeviceConnected':
      case 'DeviceDisconnected':
      case 'DeviceRejected':
        return state;
    }
  },
});

const reasonOf = (state: State, code: string | undefined): string => {
  if (code === undefined) return state.revoked ? 'was revoked' : 'has no key yet and brought no join code';
  if (state.code === null) return 'brought a join code that was used or never given';
  return state.code.sha256 === code ? 'brought a join code that has expired' : 'brought a wrong join code';
};
