import { isCortexError, type CortexError } from '@cortex/contracts';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { argumentsOf, nearest } from './arguments.js';

const input = z.object({
  waitpoint_id: z.string().regex(/^[a-z_0-9]+$/, 'must be an id; take one from waitpoint_list'),
  answer: z.string().min(1).max(10).optional(),
  count: z.number().int().min(1).max(5).optional(),
  color: z.enum(['red', 'green']).optional(),
  tags: z.array(z.string()).max(2).optional(),
  nothing: z.string().nullable().optional(),
  edit: z.object({ from: z.string() }).strict().optional(),
});
const args = argumentsOf(input, 'required');
const check = (given: Record<string, unknown>) => args.check({ waitpoint_id: 'w_1', ...given });

function refusal(work: () => unknown): CortexError {
  try {
    work();
  } catch (error) {
    if (isCortexError(error)) return error;
    throw error;
  }
  throw new Error('was accepted');
}
const text = (given: Record<string, unknown>) => refusal(() => check(given)).message;

describe('arguments', () => {
  it('names the nearest known argument for one that is unknown', () => {
    const error = refusal(() => args.check({ waitpoint_id: 'w_1', awnser: 'yes' }));
    expect(error.toWire()).toEqual({
      kind: 'invalid_argument',
      reason: 'unknown_argument',
      field: 'awnser',
      message: 'awnser is no known argument; did you mean answer?',
      retryable: false,
    });
    expect(text({ waitpointId: 'w_2' })).toBe('waitpointId is no known argument; did you mean waitpoint_id?');
  });

  it('lists the known ones when none is near', () => {
    expect(text({ zzzzzz: 1 })).toContain('known are workspace_id, waitpoint_id, answer');
  });

  it('finds an unknown argument below an object', () => {
    expect(text({ edit: { from: 'a', too: 'b' } })).toBe('edit.too is no known argument; leave it out');
  });

  it.each([
    [{ waitpoint_id: undefined }, 'waitpoint_id is missing; give a text'],
    [{ waitpoint_id: 7 }, 'waitpoint_id must be a text; it is a number'],
    [{ waitpoint_id: null }, 'waitpoint_id must be a text; it is null'],
    [{ waitpoint_id: 'NO' }, 'waitpoint_id must be an id; take one from waitpoint_list'],
    [{ answer: '' }, 'answer is empty; give some text'],
    [{ answer: 'x'.repeat(11) }, 'answer has more than 10 characters; shorten it'],
    [{ count: 1.5 }, 'count must be a whole number; it is a number'],
    [{ count: 0 }, 'count must be at least 1; use a larger one'],
    [{ count: 6 }, 'count must be at most 5; use a smaller one'],
    [{ color: 'blue' }, 'color is none of the known values; use one of "red", "green"'],
    [{ tags: ['a', 'b', 'c'] }, 'tags has more than 2 items; send fewer'],
    [{ tags: ['a', 7] }, 'tags.1 must be a text; it is a number'],
    [{ tags: 'a' }, 'tags must be a list; it is a text'],
  ])('says of %j: %s', (given, message) => expect(text(given)).toBe(message));

  it('gives limit and size of what is too large', () => {
    expect(refusal(() => check({ answer: 'x'.repeat(11) })).toWire()).toMatchObject({
      reason: 'too_large',
      details: { limit: 10, actual: 11 },
    });
  });

  it('names every fault at once', () => {
    expect(text({ count: 9, answer: '', colour: 'red' })).toBe(
      'colour is no known argument; did you mean color? (also: answer is empty; count must be at most 5)',
    );
  });

  it('takes null for an optional argument that is absent, and keeps null where it is a value', () => {
    expect(check({ answer: null, nothing: null })).toEqual({ waitpoint_id: 'w_1', nothing: null });
  });

  it('takes the workspace out where the rule adds it, and refuses it where there is none', () => {
    expect(check({ workspace_id: 'w1' })).toEqual({ waitpoint_id: 'w_1' });
    const none = argumentsOf(z.object({}), 'none');
    expect(refusal(() => none.check({ workspace_id: 'w1' })).message).toBe(
      'workspace_id is no known argument; leave it out, this takes no arguments',
    );
  });

  it('refuses names that are properties of every object', () => {
    const hostile = JSON.parse('{"waitpoint_id":"w_1","__proto__":{"admin":true},"constructor":1}') as Record<
      string,
      unknown
    >;
    expect(refusal(() => args.check(hostile)).reason).toBe('unknown_argument');
  });

  it('clips a name that is longer than anybody would read', () => {
    expect(text({ ['x'.repeat(10_000)]: 1 }).length).toBeLessThan(400);
  });

  it('calls nothing near that only shares a few letters', () => {
    expect(nearest('path', ['query', 'limit'])).toBeUndefined();
    expect(nearest('file_path', ['filepath', 'path'])).toBe('filepath');
  });
});
