import { describe, expect, it } from '@jest/globals';
import { ownScheme, readResources, readTemplates, type Rules } from './declarations.js';

const backend = { id: 'demo', scopePrefixes: ['mcp:demo:'], uriSchemes: ['demo', 'wiki+x'] };
const rules = { backend, builtins: new Set(), production: true } as unknown as Rules;
const FOREIGN = [
  'other://a',
  'cortex://architecture',
  'file:///etc/passwd',
  'https://demo',
  'a',
  ':demo',
  '//demo:x',
  'demo%3A//a',
  '{s}://a',
];

describe('a URI of a backend', () => {
  it.each(['demo:a', 'demo://a/b', 'DEMO://a', 'wiki+x:1'])('is in a scheme of its own: %s', (uri) =>
    expect(ownScheme(backend as never, uri)).toBe(true),
  );

  it.each(FOREIGN)('T23 is offered in no scheme of others: %s', (uri) => {
    const item = { name: 'n', scope: 'mcp:demo:read' };
    const resources = readResources(
      rules,
      JSON.stringify([
        { ...item, uri },
        { ...item, uri: 'demo:good' },
      ]),
    );
    expect(resources.items.map((one) => one.uri)).toEqual(['demo:good']);
    expect(resources.faults).toEqual([expect.stringContaining('is under none of the schemes demo, wiki+x')]);
    const templates = readTemplates(rules, JSON.stringify([{ ...item, uriTemplate: uri }]));
    expect([templates.items, templates.faults.length]).toEqual([[], 1]);
  });
});

it.each(['text/plain\r\nx: y', '', 7])('a mimeType that is none is left out of an item, and told: %j', (mimeType) => {
  const item = { name: 'n', scope: 'mcp:demo:read', uri: 'demo:a', mimeType };
  const { items, faults } = readResources(rules, JSON.stringify([item]));
  expect([items[0]?.raw.has('mimeType'), items[0]?.value['mimeType']]).toEqual([false, undefined]);
  expect(faults).toEqual([expect.stringContaining('has a mimeType that is none')]);
});
