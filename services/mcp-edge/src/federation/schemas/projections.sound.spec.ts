import { expect, it } from '@jest/globals';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { checkSchema } from './check.js';
import { project } from './projections.js';

/** Numbers as good as random and the same in every run. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}
type Roll = (sides: number) => number;
const pick = <T>(roll: Roll, from: readonly T[]): T => from[roll(from.length)] as T;

const NAMES = ['a', 'b', 'xc'];
const VALUES: unknown[] = [
  null,
  true,
  0,
  1,
  'x',
  'long',
  [],
  [1],
  ['x', 1],
  {},
  { a: 1 },
  { a: 'x', b: 1 },
  { xc: 'x' },
];
const REFS = ['#/$defs/one', '#/$defs/two', '#two', '#', '#/properties/a'];

function schemaOf(roll: Roll, depth: number): unknown {
  if (depth === 0 || roll(12) === 0)
    return pick<unknown>(roll, [true, {}, { type: 'string' }, { const: 1 }, { $ref: pick(roll, REFS) }]);
  const below = (): unknown => schemaOf(roll, depth - 1);
  const some = (): unknown[] => Array.from({ length: 1 + roll(2) }, below);
  const named = (): object => Object.fromEntries(NAMES.filter(() => roll(2) === 0).map((name) => [name, below()]));
  const keywords: (() => object)[] = [
    () => ({
      type: pick<unknown>(roll, ['object', 'string', 'array', ['object', 'array'], ['string', 'null', 'object']]),
    }),
    () => ({ properties: named() }),
    () => ({ required: NAMES.filter(() => roll(3) === 0) }),
    () => ({ additionalProperties: roll(2) === 0 ? false : below() }),
    () => ({ patternProperties: { '^x': below() } }),
    () => ({ prefixItems: some() }),
    () => ({ items: roll(3) === 0 ? false : below() }),
    () => ({ contains: below(), minContains: roll(2) }),
    () => ({ allOf: some() }),
    () => ({ anyOf: some() }),
    () => ({ oneOf: some() }),
    () => ({ not: below() }),
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    () => ({ if: below(), then: below(), else: below() }),
    () => ({ dependentSchemas: named() }),
    () => ({ dependentRequired: { a: ['b'] } }),
    () => ({ unevaluatedProperties: false }),
    () => ({ unevaluatedItems: false }),
    () => ({ minProperties: 1, minItems: 1, minLength: 2 }),
    () => ({ enum: [pick(roll, VALUES), pick(roll, VALUES)] }),
    () => ({ $ref: pick(roll, REFS) }),
  ];
  return Object.assign({}, ...Array.from({ length: 1 + roll(3) }, () => pick(roll, keywords)()));
}

function valueOf(roll: Roll, depth: number): unknown {
  if (depth === 0 || roll(3) === 0) return pick(roll, VALUES);
  if (roll(3) === 0) return Array.from({ length: roll(3) }, () => valueOf(roll, depth - 1));
  return Object.fromEntries(NAMES.filter(() => roll(2) === 0).map((name) => [name, valueOf(roll, depth - 1)]));
}

const OPTIONS = { strict: false, validateFormats: false, validateSchema: false, meta: false, logger: false } as const;
const accepts = (schema: object, old = false): ((value: unknown) => boolean) => {
  const validate = (old ? new Ajv(OPTIONS) : new Ajv2020(OPTIONS)).compile(schema);
  return (value) => validate(value);
};

it.each(['inline', 'flat', 'strip', 'draft-07', 'basic', 'flat,strip', 'inline,draft-07', 'basic,draft-07'])(
  'P31 P33 %s never forbids what the original allows',
  (profile) => {
    let compared = 0;
    for (let seed = 1; seed <= 250; seed++) {
      const roll = dice(seed);
      const root = schemaOf(roll, 3) as Record<string, unknown>;
      if (typeof root !== 'object') continue;
      const schema = {
        ...root,
        type: 'object',
        $defs: { one: schemaOf(roll, 2), two: { $anchor: 'two', properties: { a: schemaOf(roll, 1) } } },
      };
      const text = JSON.stringify(schema);
      // Draft-07 has no words for these, and dropped inside a `not` they are missed the other way round.
      if (profile.includes('draft-07') && /unevaluated|minContains/.test(text)) continue;
      if ('fault' in checkSchema(text, JSON.parse(text), 'input')) continue;
      const result = project(text, profile, 'input');
      if ('omitted' in result) continue;
      const form = JSON.parse(result.text) as { properties?: Record<string, unknown> };
      const found = checkSchema(result.text, form, 'input');
      if ('fault' in found) throw new Error(`${JSON.stringify(found.fault)}: ${text} became ${result.text}`);
      // What an alternative says of a property is offered, also where another one leaves it open.
      if (profile.includes('flat') || profile.includes('basic'))
        for (const name of Object.keys(form.properties ?? {})) form.properties![name] = true;
      const before = accepts(schema);
      const after = accepts(form, profile.includes('draft-07'));
      for (let i = 0; i < 25; i++) {
        const value = valueOf(roll, 3);
        let allowed: boolean;
        try {
          allowed = before(value);
        } catch {
          break; // A schema that never ends by way of `anyOf`, `not` or a condition: no value can be checked by it.
        }
        if (allowed && !after(value)) throw new Error(`${JSON.stringify(value)}: ${text} became ${result.text}`);
        compared++;
      }
    }
    expect(compared).toBeGreaterThan(500);
  },
);
