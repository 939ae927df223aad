import { expect, it } from '@jest/globals';
import { config } from './config.js';

const faultsOf = (env: Record<string, string>): string[] =>
  (config.safeParse(env).error?.issues ?? []).map(({ path, message }) => `${path.join('.')} ${message}`);

it.each([
  ['https://hooks.example.com/x', {}],
  ['http://127.0.0.1:9/x', {}],
  ['http://hooks.internal/x', { CORTEX_ALLOW_INSECURE_BACKENDS: 'true' }],
])('a webhook may be %s', (url, more) => expect(faultsOf({ CORTEX_TICKET_WEBHOOK_URL: url, ...more })).toEqual([]));

it.each([
  ['http://hooks.example.com/x', /is http to another machine/],
  ['http://127.0.0.1.evil.example/x', /is http to another machine/],
  ['https://me:secret@hooks.example.com/x', /^CORTEX_TICKET_WEBHOOK_URL holds a user or a password/],
  ['ftp://hooks.example.com', /is neither https nor http/],
  ['/hook', /is no absolute URL/],
])('a webhook is not %s, and the fault names the variable and not the address', (url, problem) => {
  const faults = faultsOf({ CORTEX_TICKET_WEBHOOK_URL: url });
  expect(faults).toEqual([expect.stringMatching(problem)]);
  expect(faults[0]).not.toContain('hooks.example');
});

it('a secret without a webhook is a slip', () =>
  expect(faultsOf({ CORTEX_TICKET_WEBHOOK_SECRET: 'x' })).toEqual([
    'CORTEX_TICKET_WEBHOOK_SECRET signs nothing without CORTEX_TICKET_WEBHOOK_URL; set both or neither',
  ]));
