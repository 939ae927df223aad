import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { checked, loadClientConfig } from './config.js';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'cortex-client-'));
  await mkdir(join(home, 'config'));
});
afterEach(() => rm(home, { recursive: true, force: true }));

const file = (content: unknown) => writeFile(join(home, 'config', 'cortex-client.json'), JSON.stringify(content));
const load = (env: Record<string, string> = {}) => loadClientConfig({ CORTEX_HOME: home, ...env });

it('takes the environment before the file, and serverUrl before host and port', async () => {
  await file({ serverHost: 'localhost', clientToken: 'of-file', deviceName: 'lab' });
  expect(load()).toMatchObject({ url: 'ws://localhost:3002', token: 'of-file', device: 'lab', home });
  await file({ serverHost: 'localhost', serverPort: 4000, serverUrl: 'wss://cortex.example', clientToken: 'of-file' });
  expect(load()).toMatchObject({ url: 'wss://cortex.example', device: hostname() });
  expect(load({ CORTEX_SERVER_URL: 'ws://127.0.0.1:1', CORTEX_CLIENT_TOKEN: 'of-env' })).toMatchObject({
    url: 'ws://127.0.0.1:1',
    token: 'of-env',
  });
});
it('needs a token, and says where it is looked for', () =>
  expect(() => load()).toThrow(
    /^clientToken is missing; set CORTEX_CLIENT_TOKEN, or clientToken in .*cortex-client\.json$/,
  ));
it('names a field of the wrong type and a file that is no JSON', async () => {
  await file({ serverPort: '3002', clientToken: 'x' });
  expect(() => load()).toThrow(/serverPort .* is a string; give a number/);
  await writeFile(join(home, 'config', 'cortex-client.json'), '{');
  expect(() => load()).toThrow(/is no JSON/);
});
it('T67 refuses ws:// to a host that is not loopback, unless the file allows it', () => {
  const base = { device: 'lab', token: 'x', home };
  for (const url of [
    'ws://10.0.0.1:3002',
    'ws://cortex.example',
    'ws://127.0.0.1.example',
    'ws://[2001:db8::1]:1',
    'ws://0.0.0.0:1',
  ]) {
    expect(() => checked({ ...base, url })).toThrow(/unencrypted/);
    expect(checked({ ...base, url, allowPlaintext: true }).url).toBe(url);
  }
  for (const url of ['ws://127.0.0.1:3002', 'ws://localhost:1', 'ws://[::1]:3002', 'wss://cortex.example']) {
    expect(checked({ ...base, url }).url).toBe(url);
  }
  for (const url of ['http://x', 'x', 'file:///x'])
    expect(() => checked({ ...base, url })).toThrow(/no WebSocket address/);
});
