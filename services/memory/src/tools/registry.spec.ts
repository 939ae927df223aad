import { ALWAYS_ALLOWED } from '@cortex/contracts/gating';
import { wholeRegistry } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { tools } from './registry.js';

wholeRegistry(tools, import.meta.url);

it('has tools that every mode allows', () => {
  for (const { name } of tools) expect(ALWAYS_ALLOWED).toContain(name);
});
