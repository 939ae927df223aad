import { readdirSync, readFileSync } from 'node:fs';
import type { CommitEnvelope } from '@cortex/contracts';
import type { DeviceEvent } from '@cortex/contracts/device';
import { specFor } from '@cortex/testing/spec-for';
import { describe, expect, it } from '@jest/globals';
import { device, deviceId, type DeviceCommand } from './device.decider.js';

const given = specFor(device);
const name = 'lab';
const at = '2026-03-01T09:00:00.000Z';
const key = { public_key: 'A'.repeat(43), key_sha256: 'a'.repeat(64) };
const otherKey = { public_key: 'B'.repeat(43), key_sha256: 'b'.repeat(64) };
const code_sha256 = 'c'.repeat(64);

const added: DeviceEvent = { type: 'DeviceAdded', data: { device: name } };
const codeIssued: DeviceEvent = {
  type: 'DeviceJoinCodeIssued',
  data: { device: name, code_sha256, expires_at: '2026-03-01T09:15:00.000Z' },
};
const enrolled: DeviceEvent = { type: 'DeviceEnrolled', data: { device: name, ...key, by: 'join-code' } };
const revoked: DeviceEvent = { type: 'DeviceRevoked', data: { device: name, by: 'per_1' } };
const join = (more: Partial<Extract<DeviceCommand, { type: 'JoinDevice' }>> = {}): DeviceCommand => ({
  type: 'JoinDevice',
  at,
  device: name,
  key,
  enrolment: 'join-code',
  ...more,
});
const connect = (more: Partial<Extract<DeviceCommand, { type: 'ConnectDevice' }>> = {}): DeviceCommand => ({
  type: 'ConnectDevice',
  device: name,
  key,
  platform: 'linux',
  capabilities: ['rg'],
  ...more,
});

describe('adding', () => {
  it('records a machine once', () => {
    given().when({ type: 'AddDevice', device: name }).then(added);
    given(added).when({ type: 'AddDevice', device: name }).thenNothing();
  });
  it('adds a machine that gets a join code before it was added', () =>
    given()
      .when({ type: 'IssueJoinCode', device: name, code_sha256, expires_at: codeIssued.data.expires_at })
      .then(added, codeIssued));
});

describe('joining', () => {
  it('takes the first key with the code', () => given(added, codeIssued).when(join({ code_sha256 })).then(enrolled));
  it('records nothing for a key that is known', () => given(added, codeIssued, enrolled).when(join()).thenNothing());
  it('T66 refuses a key without a code', () => given(added, codeIssued).when(join()).thenRejects('permission_denied'));
  it('T66 refuses a wrong code', () =>
    given(added, codeIssued)
      .when(join({ code_sha256: 'd'.repeat(64) }))
      .thenRejects('permission_denied', 'device'));
  it('T66 refuses a used code for another key', () =>
    given(added, codeIssued, enrolled)
      .when(join({ key: otherKey, code_sha256 }))
      .thenRejects('permission_denied'));
  it('T66 refuses a code from the very moment it expires', () =>
    given(added, codeIssued)
      .when(join({ code_sha256, at: '2026-03-01T09:15:00.000Z' }))
      .thenRejects('permission_denied'));
  it('T66 refuses another key of a name that has one, whatever the enrolment', () => {
    for (const enrolment of ['join-code', 'first-use'] as const) {
      given(added, codeIssued, enrolled)
        .when(join({ key: otherKey, enrolment }))
        .thenRejects('permission_denied');
    }
  });
  it('changes the key with a fresh code', () =>
    given(added, codeIssued, enrolled, codeIssued)
      .when(join({ key: otherKey, code_sha256 }))
      .then({ type: 'DeviceKeyRotated', data: { device: name, ...otherKey, by: 'join-code' } }));
  it('lets only the newest code in', () => {
    const newer: DeviceEvent = { ...codeIssued, data: { ...codeIssued.data, code_sha256: 'e'.repeat(64) } };
    given(added, codeIssued, newer).when(join({ code_sha256 })).thenRejects('permission_denied');
  });
  it('lets the first key claim a free name when enrolment is first-use', () =>
    given()
      .when(join({ enrolment: 'first-use' }))
      .then(added, { type: 'DeviceEnrolled', data: { device: name, ...key, by: 'first-use' } }));
  it('T66 keeps a revoked name from being claimed by first use', () =>
    given(added, enrolled, revoked)
      .when(join({ enrolment: 'first-use' }))
      .thenRejects('permission_denied'));
  it('records no key when names are taken on the word of the token', () =>
    given(added)
      .when(join({ enrolment: 'off' }))
      .thenNothing());
});

describe('connecting', () => {
  const connected: DeviceEvent = {
    type: 'DeviceConnected',
    data: { device: name, platform: 'linux', capabilities: ['rg'] },
  };
  it('records who came', () => given(added, enrolled).when(connect()).then(connected));
  it('T66 refuses a key that was revoked after it was proved', () =>
    given(added, enrolled, revoked).when(connect()).thenRejects('permission_denied', 'device'));
  it('asks for no key when names are taken on the word of the token', () =>
    given(added)
      .when(connect({ key: null }))
      .then(connected));
});

describe('revoking', () => {
  const revoke: DeviceCommand = { type: 'RevokeDevice', device: name, by: 'per_1' };
  it('forgets the key', () => given(added, enrolled).when(revoke).then(revoked));
  it('forgets an open join code', () => {
    given(added, codeIssued).when(revoke).then(revoked);
    given(added, codeIssued, revoked).when(join({ code_sha256 })).thenRejects('permission_denied');
  });
  it('records nothing the second time', () => given(added, enrolled, revoked).when(revoke).thenNothing());
  it('refuses a machine that was never added', () => given().when(revoke).thenRejects('failed_precondition', 'name'));
  it('lets a new code in afterwards', () =>
    given(added, enrolled, revoked, codeIssued).when(join({ code_sha256 })).then(enrolled));
});

it('makes an id of a name that cannot stand in a subject', () => {
  expect(deviceId('lab-1')).toBe('lab-1');
  expect(deviceId('lab.example.org')).toMatch(/^[0-9a-f]{32}$/);
});

it('folds every stored history', () => {
  const folder = new URL('history/', import.meta.url);
  const fold = (file: string) =>
    (JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as CommitEnvelope[])
      .flatMap(({ events, ...meta }) =>
        events.map((event) => ({ ...meta, ...(event as DeviceEvent & { version: number }) })),
      )
      .reduce((state, event) => device.evolve(state, event), device.initial);
  expect(Object.fromEntries(readdirSync(folder).map((file) => [file, fold(file)]))).toEqual({
    '0001-joined-and-revoked.json': { added: true, key: null, code: null, revoked: true },
  });
});
