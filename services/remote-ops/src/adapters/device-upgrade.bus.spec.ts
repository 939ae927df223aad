import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startFleet, type Fleet } from '../testing/fleet.js';
import { RawDevice } from '../testing/raw-device.js';

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet();
});
afterAll(async () => fleet[Symbol.asyncDispose]());

const dial = (headers: Record<string, string> = {}, path?: string) =>
  RawDevice.dial(fleet.port, { 'x-cortex-token': fleet.token, ...headers }, path);

describe('the upgrade', () => {
  it('needs the token', async () => {
    await expect(dial({ 'x-cortex-token': 'wrong' })).rejects.toThrow('HTTP 401');
    await expect(RawDevice.dial(fleet.port, {})).rejects.toThrow('HTTP 401');
  });
  it('is refused to a page in a browser, whatever its origin', async () => {
    for (const origin of ['https://example.org', `http://127.0.0.1:${fleet.port}`, 'null']) {
      await expect(dial({ origin })).rejects.toThrow('HTTP 403');
    }
  });
  it('is refused under a foreign host name', async () =>
    await expect(dial({ host: 'evil.example:3002' })).rejects.toThrow('HTTP 403'));
  it('is there under any path that a proxy may keep, and only as an upgrade', async () => {
    await (await dial({}, '/devices'))[Symbol.asyncDispose]();
    await expect(dial({}, '/reverse?stream=0123')).rejects.toThrow('HTTP 404');
    const status = await new Promise((resolve) =>
      request({ port: fleet.port, host: '127.0.0.1' }, (response) => resolve(response.resume().statusCode)).end(),
    );
    expect(status).toBe(426);
  });
});
