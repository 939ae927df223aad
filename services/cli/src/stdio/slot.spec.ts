import { createServer, type AddressInfo } from 'node:net';
import { expect, it } from '@jest/globals';
import { tempDir } from '@cortex/testing/temp-dir';
import { homeOf, openHome, readJson } from '../home.js';
import { identityOf } from '../identity.js';
import { ensureSecrets } from '../secrets.js';
import { writeState, type UpState } from '../up/state.js';
import { takeSlot } from './slot.js';

const fresh = async () => homeOf(await tempDir('slots'));

it('two bridges have two places, and the next one that comes alone has the first again', async () => {
  const home = await fresh();
  const first = await takeSlot(home, {});
  const second = await takeSlot(home, {});
  expect([first.home.dir, second.home.dir]).toEqual([`${home.dir}/stdio/1`, `${home.dir}/stdio/2`]);
  expect(first.port).not.toBe(second.port);
  for (const slot of [first, second]) slot[Symbol.dispose]();
  using again = await takeSlot(home, {});
  expect(again.home.dir).toBe(first.home.dir);
});

it('a place whose gateway outlives its bridge is not taken', async () => {
  const home = await fresh();
  const left = homeOf(`${home.dir}/stdio/1`);
  openHome(left);
  writeState(left, { supervisor: identityOf(process.pid) } as UpState);
  using slot = await takeSlot(home, {});
  expect(slot.home.dir).toBe(`${home.dir}/stdio/2`);
});

it('a port that was chosen is that one or none', async () => {
  const home = await fresh();
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const env = { BRIDGE_GATEWAY_PORT: String(port) };
  await expect(takeSlot(home, env)).rejects.toThrow(`port ${port} is taken; set BRIDGE_GATEWAY_PORT`);
  await new Promise((resolve) => server.close(resolve));
  using slot = await takeSlot(home, env);
  expect(slot.port).toBe(port);
});

it('servers of the environment are met with the passwords of the home', async () => {
  const home = await fresh();
  const env = { CORTEX_NATS_URL: 'nats://127.0.0.1:4222', CORTEX_DATABASE_URL: 'postgres://127.0.0.1/cortex' };
  await expect(takeSlot(home, env)).rejects.toThrow('has no secrets yet');
  openHome(home);
  const secrets = await ensureSecrets(home);
  using slot = await takeSlot(home, env);
  expect(readJson(slot.home.secrets)).toEqual(secrets);
  expect(slot.home.dir).toBe(`${home.dir}/stdio/shared-1`);
});
