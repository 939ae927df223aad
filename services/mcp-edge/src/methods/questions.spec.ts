import { describe, expect, it } from '@jest/globals';
import { missingCapabilities, type Questions, questionsOf } from './questions.js';

const form = { method: 'elicitation/create', params: { message: 'm', requestedSchema: { type: 'object' } } };
const page = { method: 'elicitation/create', params: { mode: 'url', message: 'm', url: 'https://x.example/' } };
const sample = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } };
const roots = { method: 'roots/list' };

describe('the questions of a backend', () => {
  it.each([
    ['no object', [], 'are no object'],
    ['another method', { a: { method: 'tools/call' } }, 'tools/call'],
    ['sampling without messages', { a: { method: 'sampling/createMessage', params: {} } }, 'samples without'],
    ['a form without a schema', { a: { method: 'elicitation/create', params: { message: 'm' } } }, 'schema of a form'],
    ['a page without a URL', { a: { ...page, params: { ...page.params, url: 'x' } } }, 'URL'],
  ])('that are %s are an invalid response', (_rule, value, problem) => {
    expect(questionsOf(value, {})).toContain(problem);
  });

  it('by URL hold nothing but the page and why', () => {
    const more = { ...page, params: { ...page.params, elicitationId: 'x', requestedSchema: {} } };
    expect(questionsOf({ a: more }, {})).toEqual({ a: page });
  });

  it('leave out context of other servers for a client that gives none', () => {
    const asking = { ...sample, params: { ...sample.params, includeContext: 'allServers' } };
    expect(questionsOf({ a: asking }, { sampling: {} })).toEqual({ a: sample });
    expect(questionsOf({ a: asking }, { sampling: { context: {} } })).toEqual({ a: asking });
  });

  it.each([
    ['a form', form, {}, { elicitation: { form: {} } }],
    ['a form where only pages are opened', form, { elicitation: { url: {} } }, { elicitation: { form: {} } }],
    ['a form with a bare elicitation', form, { elicitation: {} }, undefined],
    ['a page with a bare elicitation', page, { elicitation: {} }, { elicitation: { url: {} } }],
    ['sampling', sample, {}, { sampling: {} }],
    [
      'sampling with tools',
      { ...sample, params: { ...sample.params, tools: [] } },
      { sampling: {} },
      { sampling: { tools: {} } },
    ],
    ['roots', roots, { roots: {} }, undefined],
    ['roots of who has none', roots, {}, { roots: {} }],
  ])('%s', (_rule, question, declared, missing) => {
    expect(missingCapabilities({ a: question } as unknown as Questions, declared)).toEqual(missing);
  });
});
