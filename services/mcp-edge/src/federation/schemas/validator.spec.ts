import { afterAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing/eventually';
import { checkResult, type ResultPolicy } from './result-check.js';
import { Validator } from './validator.js';

// The machine may be busy: what has to end is given long enough to end for another reason than its limit.
const validator = new Validator({ limitMs: 10_000 });
afterAll(async () => validator.close());
const check = (schema: object, value: unknown) => validator.check(JSON.stringify(schema), JSON.stringify(value));

describe('a value', () => {
  it('fits its schema or is told where not, and by which rule', async () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['b'],
      additionalProperties: false,
    };
    expect(await check({ ...schema, required: [] }, { a: 'x' })).toEqual({ kind: 'fits' });
    expect(await check(schema, { a: 1, c: 1 })).toEqual({
      kind: 'misfit',
      faults: expect.arrayContaining([
        { at: '/a', problem: 'must be string', rule: '#/properties/a/type' },
        { at: '', problem: "must have required property 'b'", rule: '#/required' },
        { at: '', problem: 'must NOT have additional properties: "c"', rule: '#/additionalProperties' },
      ]),
    });
  });
  it('P37 is not held to a format, which only describes', async () =>
    expect(await check({ type: 'string', format: 'date-time' }, '2026-11-30')).toEqual({ kind: 'fits' }));
  it.each([
    [{ prefixItems: [{ type: 'string' }], items: false }, ['x', 1]],
    [
      { $schema: 'https://json-schema.org/draft/2019-09/schema', items: [{ type: 'string' }], additionalItems: false },
      ['x', 1],
    ],
    [
      { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }], additionalItems: false },
      ['x', 1],
    ],
    [{ $schema: 'http://json-schema.org/draft-06/schema#', items: { const: 1 } }, [2]],
    [{ $defs: { a: { $anchor: 'n', type: 'string' } }, items: { $ref: '#n' } }, [2]],
    [{ $id: 'https://example.com/a', $defs: { a: { $id: 'b', type: 'string' } }, items: { $ref: 'b' } }, [2]],
  ])('is checked in the dialect of its schema: %j', async (schema, value) =>
    expect(await check(schema, value)).toMatchObject({ kind: 'misfit' }),
  );
  it('is free of what stands beside a reference in draft-07', async () => {
    const schema = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      $ref: '#/definitions/a',
      type: 'string',
      definitions: { a: { minimum: 1 } },
    };
    expect(await check(schema, 2)).toEqual({ kind: 'fits' });
    expect(await check(schema, 0)).toMatchObject({ kind: 'misfit' });
  });
  it('is checked by patterns that older tools wrote without the flag', async () =>
    expect(await check({ pattern: '^a\\_b$' }, 'a_b')).toEqual({ kind: 'fits' }));
  it('is checked by its own schema among many of one identifier', async () => {
    const of = (type: string) => ({ $id: 'https://example.com/same', type });
    expect(await check(of('string'), 'x')).toEqual({ kind: 'fits' });
    expect(await check(of('number'), 'x')).toMatchObject({ kind: 'misfit' });
  });
});

describe('a check that never ends (T95)', () => {
  it('is ended, and the next one finds a thread that works', async () => {
    await using short = closing(new Validator({ limitMs: 200 }));
    const hostile = JSON.stringify({ pattern: '^(a+)+$' });
    const value = JSON.stringify(`${'a'.repeat(40)}!`);
    expect(await short.check(hostile, value)).toMatchObject({ kind: 'unchecked' });
    // It is left alone for a while, so that it cannot end one thread after the other.
    expect(await short.check(hostile, '"a"')).toMatchObject({
      kind: 'unchecked',
      why: expect.stringContaining('last check'),
    });
    await eventually(async () => expect(await short.check('{"type":"string"}', '1')).toMatchObject({ kind: 'misfit' }));
  });
  it('keeps nobody waiting who came behind it', async () => {
    await using short = closing(new Validator({ limitMs: 200 }));
    const all = await Promise.all([
      short.check(JSON.stringify({ pattern: '^(b+)+$' }), JSON.stringify(`${'b'.repeat(40)}!`)),
      ...Array.from({ length: 20 }, () => short.check('{}', '1')),
    ]);
    expect(all.map(({ kind }) => kind)).toEqual(['unchecked', ...Array<string>(20).fill('fits')]);
  });
  it('overflows nothing but itself where a schema leads back to itself for ever', async () =>
    expect(await check({ anyOf: [{ not: {} }, { $ref: '#' }] }, 1)).toMatchObject({ kind: 'unchecked' }));
  it('answers after its end that nothing was checked', async () => {
    const closed = new Validator();
    await closed.close();
    expect(await closed.check('{}', '1')).toMatchObject({ kind: 'unchecked' });
  });

  it('waits with a thousand others at most; what comes then is not checked, and the others are', async () => {
    await using busy = closing(new Validator({ limitMs: 10_000 }));
    const verdicts = await Promise.all(Array.from({ length: 1_010 }, () => busy.check('{"type":"string"}', '"x"')));
    const why = 'too many checks wait';
    expect(verdicts.filter(({ kind }) => kind === 'fits')).toHaveLength(1_000);
    expect(verdicts.slice(1_000)).toEqual(Array(10).fill(expect.objectContaining({ kind: 'unchecked', why })));
    expect(await busy.check('{"type":"string"}', '"x"')).toEqual({ kind: 'fits' });
  });
});

const closing = (one: Validator) => Object.assign(one, { [Symbol.asyncDispose]: () => one.close() });

describe('a result', () => {
  const tool = { schemaTexts: { input: '{}', output: '{"type":"object","properties":{"a":{"type":"string"}}}' } };
  const told: string[] = [];
  const result = (policy: ResultPolicy, structured: string | undefined, is_error = false) =>
    checkResult(
      tool,
      { is_error, ...(structured !== undefined && { structured }) },
      { validator, policy, onMisfit: (why) => told.push(why) },
    );

  it('P36 is passed on where it fits', async () =>
    expect(await result('strict', '{"a":"x"}')).toEqual({ structured: '{"a":"x"}' }));
  it('P37 is passed on with a note where it does not, unless the policy is strict', async () => {
    const mismatch = 'structuredContent/a must be string (#/properties/a/type)';
    expect(await result('warn', '{"a":1}')).toEqual({ structured: '{"a":1}', mismatch });
    expect(await result('strict', '{"a":1}')).toEqual({ invalid: mismatch });
    expect(await result('off', '{"a":1}')).toEqual({ structured: '{"a":1}' });
    expect(told).toEqual([mismatch, mismatch]);
  });
  it('must have a structured part, unless it is an error', async () => {
    expect(await result('warn', undefined)).toEqual({
      structured: undefined,
      mismatch: 'structuredContent is missing',
    });
    expect(await result('strict', undefined, true)).toEqual({ structured: undefined });
  });
  it('P38 loses a structured part that does not fit where it is an error', async () => {
    expect(await result('warn', '{"a":1}', true)).toEqual({ structured: undefined });
    expect(await result('warn', '{"a":"x"}', true)).toEqual({ structured: '{"a":"x"}' });
  });
});
