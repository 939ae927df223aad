import { wholeRegistry } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { tools } from './registry.js';

wholeRegistry(tools, import.meta.url);

it('asks for a session', () => {
  expect(tools.every(({ announced }) => announced.session && announced.group === 'cortex-ext')).toBe(true);
});
