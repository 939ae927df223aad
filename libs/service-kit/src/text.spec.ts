import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { argumentsOf } from './arguments.js';
import { defineTool } from './tool.js';
import { document, text } from './text.js';

const tool = defineTool({
  name: 'say',
  title: 'Say',
  description: 'Says.',
  tier: 'read',
  actions: [],
  workspace: 'none',
  input: z.object({
    title: text({ max: 5, blank: false }).describe('1 to 5 characters'),
    body: text({ max: 5 }).describe('At most 5 characters').optional(),
    more: document({ maxBytes: 40 }).describe('At most 40 bytes of JSON').optional(),
  }),
  output: z.object({}),
  handle: () => ({}),
});
const check = (args: Record<string, unknown>) => tool.arguments.check(args);
const refused = (args: Record<string, unknown>) => {
  try {
    return check(args);
  } catch (error) {
    return error;
  }
};

describe('a text', () => {
  it('is normalized to NFC, and what counts is the character, not its bytes', () => {
    expect(check({ title: 'e\u0301' })).toEqual({ title: '\u00e9' });
    expect(check({ title: '😀😀😀😀😀' })).toEqual({ title: '😀😀😀😀😀' });
    expect(check({ title: 'ok', body: '' })).toEqual({ title: 'ok', body: '' });
    expect(check({ title: 'ok', body: null })).toEqual({ title: 'ok' });
  });

  it('is blank when it shows nothing, and not when something that shows is among it', () => {
    for (const title of ['', ' \t\n', '\u200b', '\u200b \u2060', '\ufeff', '\u3164', '\u2800', '\u0007', '\u{e0041}'])
      expect(refused({ title })).toMatchObject({
        kind: 'invalid_argument',
        message: expect.stringContaining('is blank'),
      });
    expect(check({ title: '\u200bok\u200b' })).toEqual({ title: '\u200bok\u200b' });
    expect(check({ title: 'ok', body: '\u200b' })).toEqual({ title: 'ok', body: '\u200b' });
  });

  it('loses halves of characters, which no database can store', () => {
    expect(check({ title: 'a\ud800' })).toEqual({ title: 'a\ufffd' });
  });

  it('is refused by name when it is too long, blank or holds NUL', () => {
    expect(refused({ title: 'abcdef' })).toMatchObject({
      kind: 'invalid_argument',
      reason: 'too_large',
      message: 'title has more than 5 characters; shorten it',
      details: { limit: 5, actual: 6 },
    });
    expect(refused({ title: ' \n' })).toMatchObject({ message: 'title is blank; give some text' });
    expect(refused({ title: '' })).toMatchObject({ message: 'title is blank; give some text' });
    expect(refused({ title: 'a\0' })).toMatchObject({ message: 'title holds a NUL character; remove it' });
    expect(refused({ title: 7 })).toMatchObject({ message: 'title must be a text; it is a number' });
  });

  it('of any length passes who goes by the announced schema, since that counts otherwise', () => {
    const announced = argumentsOf(z.fromJSONSchema(tool.announced.input_schema) as z.ZodObject, 'none');
    expect(() => announced.check({ title: '😀😀😀😀😀' })).not.toThrow();
    expect(tool.announced.input_schema['properties']).toEqual({
      title: { type: 'string', description: '1 to 5 characters' },
      body: { type: 'string', description: 'At most 5 characters' },
      more: {
        type: 'object',
        description: 'At most 40 bytes of JSON',
        propertyNames: { type: 'string' },
        additionalProperties: {},
      },
    });
  });
});

describe('a document', () => {
  it('keeps its shape, with its names and texts as those of a text', () => {
    const more = { 'e\u0301': ['e\u0301', 1, { a: null }] };
    expect(check({ title: 'ok', more })).toEqual({ title: 'ok', more: { '\u00e9': ['\u00e9', 1, { a: null }] } });
  });

  it.each([
    [{ a: { b: ['x\0'] } }, 'more holds a NUL character; remove it'],
    [{ 'a\0': 1 }, 'more holds a NUL character; remove it'],
    [{ a: 'x'.repeat(33) }, 'more has more than 40 bytes of JSON; shorten it'],
    [{ a: 'ü'.repeat(17) }, 'more has more than 40 bytes of JSON; shorten it'],
    [['a'], 'more must be an object; it is a list'],
  ])('%j is refused', (more, message) => {
    expect(refused({ title: 'ok', more })).toMatchObject({ kind: 'invalid_argument', message });
  });
});
