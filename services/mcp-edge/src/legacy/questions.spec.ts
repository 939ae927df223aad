import { describe, expect, it } from '@jest/globals';
import { capabilitiesIn, paramsIn } from './questions.js';

const form = (properties: object) => ({
  mode: 'form',
  message: 'm',
  requestedSchema: { type: 'object', properties },
});
const TITLED = { type: 'string', oneOf: [{ const: 'a', title: 'A' }] };
const SEVERAL = { type: 'array', items: { enum: ['a'] } };
const PAGE = { mode: 'url', message: 'm', url: 'https://x.example/' };

describe('a form', () => {
  it('goes as it is to a session of 2025-11-25', () =>
    expect(paramsIn('2025-11-25', 'elicitation/create', form({ a: TITLED, b: SEVERAL }))).toEqual(
      form({ a: TITLED, b: SEVERAL }),
    ));

  it('loses its mode in 2025-06-18, where titled choices have their older form', () =>
    expect(paramsIn('2025-06-18', 'elicitation/create', form({ a: TITLED, n: { type: 'number' } }))).toEqual({
      message: 'm',
      requestedSchema: {
        type: 'object',
        properties: { a: { type: 'string', enum: ['a'], enumNames: ['A'] }, n: { type: 'number' } },
      },
    }));

  it('with a choice of several has no form in 2025-06-18', () =>
    expect(paramsIn('2025-06-18', 'elicitation/create', form({ a: SEVERAL }))).toBeUndefined());
});

it('a page to open has an id of its own in 2025-11-25', () => {
  const ids = [1, 2].map(() => paramsIn('2025-11-25', 'elicitation/create', PAGE)?.['elicitationId']);
  expect(ids[0]).toMatch(/^[0-9a-f-]{36}$/);
  expect(ids[1]).not.toBe(ids[0]);
});

it('what is no form goes as it is', () =>
  expect(paramsIn('2025-03-26', 'sampling/createMessage', { maxTokens: 1 })).toEqual({ maxTokens: 1 }));

describe('a client of', () => {
  const all = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };
  it.each([
    ['2025-11-25', all],
    ['2025-06-18', { elicitation: {}, sampling: {}, roots: {} }],
    ['2025-03-26', { sampling: {}, roots: {} }],
    ['2024-11-05', { sampling: {}, roots: {} }],
  ] as const)('%s can have meant no more than %j', (revision, meant) =>
    expect(capabilitiesIn(revision, all)).toEqual(meant),
  );
});
