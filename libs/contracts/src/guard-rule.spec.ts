import { expect, it } from '@jest/globals';
import { GuardRuleInput } from './guard-rule.js';

const prefixOf = (command_prefix: string) => GuardRuleInput.safeParse({ command_prefix, decision: 'deny' });

it('a prefix is words with one blank between them, so that none is longer than what it says', () => {
  expect(prefixOf('  git \t  push ').data).toMatchObject({ command_prefix: 'git push' });
});
it.each(['', '   ', 'git; rm', 'a | b', '$(rm)', "sh -c 'rm'", 'a\nb', 'a\0'])('is no prefix: %j', (text) => {
  expect(prefixOf(text).success).toBe(false);
});
