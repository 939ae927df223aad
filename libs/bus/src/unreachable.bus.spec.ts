import { natsFixture, testAuthority, type NatsFixture } from '@cortex/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { BusOptions } from './bus.js';
import { connectBus } from './connect.js';

const authority = testAuthority();
let nats: NatsFixture;
beforeAll(async () => {
  const tls = { ca: authority.ca, client: authority.certify('client'), ...authority.certify('127.0.0.1') };
  nats = await natsFixture({ provision: false, tls });
});
afterAll(async () => nats[Symbol.asyncDispose]());
const connect = (more: Partial<BusOptions>) =>
  connectBus({
    servers: nats.url,
    ...(nats.tls && { tls: nats.tls }),
    user: 'ticket',
    pass: nats.passwordOf('ticket'),
    service: 'ticket',
    waitOnFirstConnect: false,
    ...more,
  });

describe('a bus by TLS that takes no connection', () => {
  it('for want of its authority names the variable of that', async () => {
    const why = 'bus shows a certificate of an unknown authority at tls://';
    const fix = 'name the file of its authority in CORTEX_NATS_CA_FILE';
    await expect(connect({ tls: {} })).rejects.toMatchObject({ message: expect.stringContaining(why), fix });
  });
  it('for want of ours names the variables of that', async () => {
    await expect(connect({ tls: { ca: nats.tls!.ca } })).rejects.toThrow(
      /or name a certificate to show it in CORTEX_NATS_CERT_FILE and CORTEX_NATS_KEY_FILE$/,
    );
  });
  it('for a password that is not the one it has says so', async () => {
    await expect(connect({ pass: 'guessed' })).rejects.toThrow(
      /refuses the password that it is shown .*; use the secrets/,
    );
  });
});
