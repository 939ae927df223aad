import { describe, expect, it } from '@jest/globals';
import { splitCommand, startsWithWords } from './commands.js';

describe('a command is split into everything that it may run', () => {
  it.each([
    ['git status; rm -rf x', 'rm -rf x'],
    ['a && rm x', 'rm x'],
    ['a | rm x', 'rm x'],
    ['a\nrm x', 'rm x'],
    ['echo $(rm x)', 'rm x'],
    ['echo `rm x`', 'rm x'],
    ['(rm x)', 'rm x'],
    ['{ rm x; }', 'rm x'],
    ['sudo rm x', 'rm x'],
    ['sudo -u root rm x', 'rm x'],
    ['env A=1 rm x', 'rm x'],
    ['A=1 rm x', 'rm x'],
    ['xargs rm', 'rm'],
    ['exec rm x', 'rm x'],
    ["sh -c 'rm x'", 'rm x'],
    ['bash -c "rm   x"', 'rm x'],
    ['/bin/rm x', 'rm x'],
  ])('%j runs %j', (text, part) => expect(splitCommand(text).parts).toContain(part));
});

describe('an allow rule counts for one plain command alone', () => {
  it.each([
    ['git status', true],
    ['git  status -s', true],
    ['git status; ls', false],
    ['git status > file', false],
    ['git log $X', false],
    ['sudo git status', false],
    ['git status &', false],
  ])('%j: %s', (text, plain) => expect(splitCommand(text).plain).toBe(plain));
});

it('a prefix ends where a word ends', () => {
  expect(startsWithWords('git push origin', 'git push')).toBe(true);
  expect(startsWithWords('git pushy', 'git push')).toBe(false);
  expect(startsWithWords('git', '')).toBe(false);
});

it('a very long command is split in bounded time', () => {
  splitCommand(`${'sudo '.repeat(20_000)}rm`);
  splitCommand('a;'.repeat(100_000));
});
