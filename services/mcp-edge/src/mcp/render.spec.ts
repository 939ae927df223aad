import { describe, expect, it } from '@jest/globals';
import { LEGACY_REVISIONS, MODERN, type Revision } from '../seams.js';
import { renderResult } from './render.js';

const REVISIONS: readonly Revision[] = [MODERN, ...LEGACY_REVISIONS];
const TEXT = { type: 'text', text: 'a' };
const LINK = { type: 'resource_link', uri: 'demo://a', name: 'A' };
const AUDIO = { type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' };
const IMAGE = { type: 'image', data: 'AA==', mimeType: 'image/png' };
const EMBEDDED = { type: 'resource', resource: { uri: 'demo://b', text: 'b' } };

const rendered = (revision: Revision, members: object, more: object = {}) => {
  const outcome = {
    kind: 'result',
    members: JSON.stringify(members).slice(1, -1),
    is_error: false,
    call_id: 'c',
    ...more,
  };
  return JSON.parse(renderResult(outcome as never, revision, '{"name":"n","version":"1"}').toString()) as {
    content: object[];
    structuredContent?: unknown;
    isError?: boolean;
    resultType?: string;
    _meta?: Record<string, unknown>;
  };
};
const blocks = (revision: Revision): object[] =>
  rendered(revision, { content: [TEXT, LINK, AUDIO, IMAGE, EMBEDDED], structuredContent: { a: 1 } }).content;

describe('a result', () => {
  it.each(REVISIONS)('has text, images and embedded resources in %s', (revision) =>
    expect(blocks(revision)).toEqual(expect.arrayContaining([TEXT, IMAGE, EMBEDDED])),
  );

  it.each([
    [MODERN, LINK],
    ['2025-11-25', LINK],
    ['2025-06-18', LINK],
    ['2025-03-26', { type: 'text', text: 'A demo://a' }],
    ['2024-11-05', { type: 'text', text: 'A demo://a' }],
  ] as const)('has a link in %s as %j', (revision, expected) => expect(blocks(revision)[1]).toEqual(expected));

  it.each([
    [MODERN, AUDIO],
    ['2025-11-25', AUDIO],
    ['2025-06-18', AUDIO],
    ['2025-03-26', AUDIO],
    [
      '2024-11-05',
      { type: 'resource', resource: { uri: 'cortex://audio', mimeType: AUDIO.mimeType, blob: AUDIO.data } },
    ],
  ] as const)('has sound in %s as %j', (revision, expected) => expect(blocks(revision)[2]).toEqual(expected));

  it.each([
    [MODERN, { a: 1 }],
    ['2025-11-25', { a: 1 }],
    ['2025-06-18', { a: 1 }],
    ['2025-03-26', undefined],
    ['2024-11-05', undefined],
  ] as const)('has its structured part in %s: %j', (revision, expected) => {
    const result = rendered(revision, { content: [TEXT], structuredContent: { a: 1 } });
    expect([result.structuredContent, result.content]).toEqual([expected, [TEXT]]);
  });

  it('says what only the newest revision knows in that one alone', () => {
    for (const revision of REVISIONS) {
      const { resultType, _meta } = rendered(revision, { content: [TEXT] });
      const modern = revision === MODERN;
      expect([revision, resultType, _meta?.['io.modelcontextprotocol/serverInfo']]).toEqual([
        revision,
        modern ? 'complete' : undefined,
        modern ? { name: 'n', version: '1' } : undefined,
      ]);
    }
  });

  it('of a failure says so in every revision, with what we add to it', () => {
    for (const revision of REVISIONS) {
      const failed = rendered(
        revision,
        { content: [TEXT] },
        { is_error: true, meta: { 'cortex/error': { kind: 'x' } } },
      );
      expect(failed).toMatchObject({ isError: true, _meta: { 'cortex/error': { kind: 'x' } } });
    }
  });

  it('P69 of 400 kB is whole in every revision', () => {
    const text = 'ä'.repeat(400_000);
    for (const revision of REVISIONS)
      expect(rendered(revision, { content: [{ type: 'text', text }] }).content).toEqual([{ type: 'text', text }]);
  });
});
