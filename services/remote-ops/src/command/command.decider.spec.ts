import { readdirSync, readFileSync } from 'node:fs';
import type { CommitEnvelope } from '@cortex/contracts';
import type { RemoteCommandEvent } from '@cortex/contracts/device';
import { specFor } from '@cortex/testing/spec-for';
import { expect, it } from '@jest/globals';
import { remoteCommand, type CommandCommand } from './command.decider.js';

const given = specFor(remoteCommand);
const at = '2026-03-01T09:00:00.000Z';
const command_id = '0123456789abcdef';
const base = { command_id, device: 'lab', action: 'bash' as const };

const issue = (offline = false): CommandCommand => ({
  type: 'IssueCommand',
  at,
  ...base,
  target: 'hostname',
  description: '',
  offline,
});
const issued = {
  type: 'RemoteCommandIssued' as const,
  data: { ...base, target: 'hostname', description: '' },
  at,
} satisfies RemoteCommandEvent & { at: string };
const { at: _at, ...issuedBare } = issued;
const completed: RemoteCommandEvent = {
  type: 'RemoteCommandCompleted',
  data: { ...base, duration_ms: 1500, exit_code: 0, result_chars: 4, spilled: false },
};
const offline: RemoteCommandEvent = {
  type: 'RemoteCommandFailed',
  data: { ...base, reason: 'offline', message: 'the device is not connected' },
};
const complete = (instructions: string[] = [], when = '2026-03-01T09:00:01.500Z'): CommandCommand => ({
  type: 'CompleteCommand',
  at: when,
  completion: { exit_code: 0, result_chars: 4, spilled: false },
  instructions,
});
const fail: CommandCommand = { type: 'FailCommand', reason: 'timeout', message: 'too late' };

it('records a command before it is sent', () => given().when(issue()).then(issuedBare));
it('records a command to a device that is away as failed at once', () =>
  given().when(issue(true)).then(issuedBare, offline));
it('records the end of a command and the time it took', () => given(issued).when(complete()).then(completed));
it('never gives a negative time when two clocks disagree', () =>
  given(issued)
    .when(complete([], '2026-03-01T08:00:00.000Z'))
    .then({ ...completed, data: { ...completed.data, duration_ms: 0 } }));
it('names the instruction files that went along', () =>
  given(issued)
    .when(complete(['/srv/AGENTS.md']))
    .then(completed, { type: 'InstructionsAttached', data: { device: 'lab', paths: ['/srv/AGENTS.md'] } }));
it('records a failure with its reason', () =>
  given(issued)
    .when(fail)
    .then({ type: 'RemoteCommandFailed', data: { ...base, reason: 'timeout', message: 'too late' } }));
it('ends once: what comes after the end is not recorded', () => {
  given(issued, completed).when(complete()).thenNothing();
  given(issued, completed).when(fail).thenNothing();
});
it('never sends a command twice under one idempotency key', () => {
  given(issued).when(issue()).thenRejects('conflict');
  given(issued, completed).when(issue()).thenRejects('conflict');
});
it('sends a command that found its device away when it comes again', () =>
  given(issued, offline).when(issue()).then(issuedBare));

it('folds every stored history', () => {
  const folder = new URL('history/', import.meta.url);
  const fold = (file: string) =>
    (JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as CommitEnvelope[])
      .flatMap(({ events, ...meta }) =>
        events.map((event) => ({ ...meta, ...(event as RemoteCommandEvent & { version: number }) })),
      )
      .reduce((state, event) => remoteCommand.evolve(state, event), remoteCommand.initial);
  expect(Object.fromEntries(readdirSync(folder).map((file) => [file, fold(file)]))).toEqual({
    '0001-completed.json': { status: 'settled' },
    '0002-lost.json': { status: 'settled' },
  });
});
