import { describe, expect, it } from '@jest/globals';
import { tempDir } from '@cortex/testing/temp-dir';
import { homeOf } from '../home.js';
import { connect, type StdioFlags } from './connect.js';

const open = async (flags: StdioFlags, env: NodeJS.ProcessEnv) => connect(homeOf(await tempDir('stdio')), flags, env);
const there = { BRIDGE_URL: 'https://cortex.example/mcp', BRIDGE_TOKEN: 'abc' };

describe('a gateway elsewhere', () => {
  it('is the one of the environment, or of the flag, which wins', async () => {
    const named = await open({}, there);
    expect([named.url.href, named.token()]).toEqual(['https://cortex.example/mcp', 'abc']);
    expect((await open({ url: 'http://127.0.0.1:9030/mcp' }, there)).url.port).toBe('9030');
  });

  it.each([
    ['http://cortex.example/mcp', 'is http to another machine'],
    ['http://127.0.0.1.evil.example/mcp', 'is http to another machine'],
    ['https://user:secret@cortex.example/mcp', 'holds a user or a password'],
    ['ftp://cortex.example', 'is neither https nor http'],
    ['cortex.example', 'is no absolute URL'],
  ])('is not reached at %s: a token goes along', async (url, problem) => {
    await expect(open({}, { ...there, BRIDGE_URL: url })).rejects.toThrow(`BRIDGE_URL ${problem}`);
    await expect(open({ url }, there)).rejects.toThrow(`--url ${problem}`);
  });

  it('needs a token that a header can carry', async () => {
    await expect(open({}, { ...there, BRIDGE_TOKEN: '' })).rejects.toThrow('BRIDGE_TOKEN is missing');
    await expect(open({}, { ...there, BRIDGE_TOKEN: 'ab​c' })).rejects.toThrow('BRIDGE_TOKEN has a character');
    expect((await open({}, { ...there, BRIDGE_TOKEN: ' abc\n' })).token()).toBe('abc');
  });
});

it('the Cortex of the home has to run where it is asked for', async () => {
  await expect(open({ running: true }, there)).rejects.toMatchObject({ exitCode: 3 });
  await expect(open({ running: true, url: 'https://a.example' }, {})).rejects.toMatchObject({ exitCode: 2 });
});

describe('a gateway of its own', () => {
  it('does not begin with scopes that nobody knows, or with a port that is none', async () => {
    await expect(open({}, { BRIDGE_SCOPES: 'everything' })).rejects.toThrow('everything');
    await expect(open({}, { BRIDGE_GATEWAY_PORT: 'x' })).rejects.toThrow('BRIDGE_GATEWAY_PORT is no port');
  });

  it.each(['CORTEX_NATS_URL', 'CORTEX_DATABASE_URL'])(
    'does not put another log under a database: %s alone is refused',
    async (name) => {
      await expect(open({}, { [name]: 'x://127.0.0.1:1' })).rejects.toThrow(`${name} is set without`);
    },
  );
});
