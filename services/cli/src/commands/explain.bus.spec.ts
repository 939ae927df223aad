import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { runningHome, type RunningHome } from '../testing/running-home.js';

let home: RunningHome;
beforeAll(async () => {
  home = await runningHome({ env: { CORTEX_ADMIN_SECRET: 'of the operators' } });
});
afterAll(async () => home[Symbol.asyncDispose]());

it('a caller that may not call a tool is told by which gate, why, and what would change it', async () => {
  const token = await home.edge.token({ scope: 'mcp:cortex:read' });
  const { code, out } = await home.cortex('explain', 'sample_risky', '--token', token, '--args', '{"path":"x"}');
  expect(code).toBe(0);
  expect(out).toMatch(/^sample_risky for person alice cli\nlisted: no {3}callable: no\n/);
  expect(out).toMatch(
    /NO {2}scope +scope lacks mcp:cortex:write\n +to pass: get a token with it \(an admin of the issuer\)\n/,
  );
  expect(out).toMatch(/ASK guard_rail +a person has to approve it \(fileDelete\)\n/);
  expect(out).not.toContain(token);
});

it('the same is there as JSON, and a refused token is explained too', async () => {
  const token = await home.edge.token({ aud: 'account' });
  const { code, out } = await home.cortex('explain', 'sample_echo', '--token', token, '--json');
  expect([code, JSON.parse(out)]).toMatchObject([
    0,
    { callable: 'no', steps: [{ gate: 'authenticate', source: { id: 'audience' } }] },
  ]);
});

it('without arguments the answer says that it is open what they would change', async () => {
  const { out } = await home.cortex('explain', 'sample_workspace', '--token', await home.edge.token());
  expect(out).toContain('callable: yes, as far as that can be told without arguments');
});

it('P48 an invisible character in a pasted token is named with its place', async () => {
  const token = await home.edge.token();
  for (const command of [['explain', 'sample_echo'], ['tools'], ['call', 'sample_echo']]) {
    const { code, told } = await home.cortex(...command, '--token', `${token}\u2060`);
    expect([code, told]).toEqual([2, expect.stringContaining(`U+2060 at position ${token.length + 1}`)]);
  }
});

it.each([
  ['no JSON', '{'],
  ['no object', '[]'],
])('arguments that are %s are wrong usage', async (_, args) =>
  expect((await home.cortex('explain', 'sample_echo', '--token', 'x', '--args', args)).code).toBe(2),
);

it('a person who came once is asked about without a token, with other scopes too', async () => {
  await home.edge.call('whoami');
  const { code, out } = await home.cortex(
    'explain',
    'sample_risky',
    '--person',
    'alice',
    '--scopes',
    'mcp:cortex:read',
  );
  expect(code).toBe(0);
  expect(out).toContain('ok  authenticate  no token was given: alice as of ');
  expect(out).toMatch(/NO {2}scope +scope lacks mcp:cortex:write/);
  const none = await home.cortex('explain', 'sample_risky', '--person', 'nobody');
  expect(none).toMatchObject({ code: 1, told: expect.stringContaining('never came here') });
  const both = await home.cortex('explain', 'sample_risky', '--person', 'alice', '--session', 's');
  expect(both).toMatchObject({
    code: 1,
    told: expect.stringContaining('give one of token, session, agent and person'),
  });
  expect(await home.cortex('explain', 'sample_risky', '--session', 's', '--mode', 'none')).toMatchObject({ code: 2 });
});
