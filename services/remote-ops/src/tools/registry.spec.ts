import { wholeRegistry } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { tools } from './registry.js';

wholeRegistry(tools, import.meta.url);

it('T69 asks for the right on devices that fits what a tool does there', () => {
  expect(Object.fromEntries(tools.map(({ name, announced }) => [name, [announced.tier, ...announced.scopes]]))).toEqual(
    {
      remote_bash: ['write', 'mcp:cortex:devices:exec'],
      remote_read: ['read', 'mcp:cortex:devices:read'],
      remote_write: ['write', 'mcp:cortex:devices:write'],
      remote_edit: ['write', 'mcp:cortex:devices:write'],
      remote_glob: ['read', 'mcp:cortex:devices:read'],
      remote_grep: ['read', 'mcp:cortex:devices:read'],
    },
  );
});

it('marks every result as coming from outside', () => {
  expect(tools.every(({ announced }) => announced.untrusted)).toBe(true);
});
