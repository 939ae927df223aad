import { expect, it } from '@jest/globals';
import { nearNames } from './near-names.js';

const names = [
  'remote_bash',
  'remote_read',
  'create_ticket',
  'list_tickets',
  'whoami',
  'mcp_status',
  'remote_glob',
  'remote_grep',
  'remote_edit',
  'remote_write',
];
it('shared words count one, containment two more, best first', () => {
  expect(nearNames('create', names)).toEqual(['create_ticket']);
  expect(nearNames('bash_remote', names)[0]).toBe('remote_bash');
  expect(nearNames('mcp__cortex__create-ticket', names)).toEqual(['create_ticket']);
});
it('at most five, and none where nothing is close', () => {
  expect(nearNames('remote', names)).toHaveLength(5);
  expect(nearNames('xyz', names)).toEqual([]);
  expect(nearNames('mcp', names.slice(0, 5))).toEqual([]);
  expect(nearNames('', names)).toEqual([]);
});
