import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectBus } from '@cortex/bus';
import { adminConfig } from '@cortex/eventstore/pool';
import {
  counterIncrement,
  counterService,
  natsFixture,
  ownPostgres,
  startService,
  tempDir,
  testAuthority,
  type NatsFixture,
  type OwnPostgres,
} from '@cortex/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';

const authority = testAuthority();
const client = authority.certify('client');
const services = [counterService];
let foreignCa: string;
beforeAll(async () => {
  foreignCa = join(await tempDir('tls'), 'foreign.pem');
  await writeFile(foreignCa, testAuthority().ca);
});

describe('TLS to the bus', () => {
  let nats: NatsFixture;
  beforeAll(async () => {
    nats = await natsFixture({ tls: { ca: authority.ca, client, ...authority.certify('127.0.0.1') } });
  });
  afterAll(async () => nats[Symbol.asyncDispose]());

  const connect = async (options: { servers?: string; tls?: object }) => {
    const all = { servers: nats.url, tls: nats.tls, user: 'ticket', pass: nats.passwordOf('ticket'), ...options };
    const bus = await connectBus({ ...all, service: 'ticket', waitOnFirstConnect: false });
    await bus.close();
  };

  it('is made with the authority and the certificate of the client', () => connect({}));
  it('takes a server of the list by its name or its address', async () => {
    const { port } = new URL(nats.url);
    await connect({ servers: `tls://127.0.0.1:${port},tls://elsewhere.example:4222` });
  });
  it('refuses a server that another authority signed for', () =>
    expect(connect({ tls: { ...nats.tls, ca: foreignCa } })).rejects.toThrow(/certificate|signature/));
  it('refuses a certificate that is made out to another host', async () => {
    const { port } = new URL(nats.url);
    await expect(connect({ servers: `tls://localhost:${port}` })).rejects.toThrow(/altnames/);
  });
  it('does not take a certificate for localhost for that of an address', async () => {
    const local = { ca: authority.ca, client, ...authority.certify('localhost') };
    await using other = await natsFixture({ provision: false, tls: local });
    await expect(connect({ servers: other.url, tls: other.tls })).rejects.toThrow(/altnames/);
  });
  it('refuses a server that offers none, before a password is sent', async () => {
    await using plain = await natsFixture({ provision: false });
    await expect(connect({ servers: plain.url.replace('nats:', 'tls:') })).rejects.toThrow(/does not support 'tls'/);
  });
  it('lets no client in without a certificate of its own where the server asks for one', () =>
    expect(connect({ tls: { ca: nats.tls?.ca } })).rejects.toMatchObject({ kind: 'unavailable' }));
});

describe('TLS to the database', () => {
  let postgres: OwnPostgres;
  beforeAll(async () => {
    postgres = await ownPostgres(services, { tls: { ca: authority.ca, client, ...authority.certify('127.0.0.1') } });
  });
  afterAll(async () => postgres[Symbol.asyncDispose]());

  const version = async (change: (url: URL) => void): Promise<string> => {
    const url = new URL(postgres.adminUrl);
    change(url);
    const connection = new pg.Client(adminConfig(url.href));
    connection.on('error', () => undefined);
    try {
      await connection.connect();
      const { rows } = await connection.query<{ version: string }>(
        'select version from pg_stat_ssl where pid = pg_backend_pid()',
      );
      return String(rows[0]?.version);
    } finally {
      await connection.end().catch(() => undefined);
    }
  };

  it('is made with the authority and the certificate of the client', async () =>
    expect(await version(() => undefined)).toMatch(/^TLSv1\.[23]$/));
  it('refuses a server that another authority signed for', () =>
    expect(version(({ searchParams }) => searchParams.set('sslrootcert', foreignCa))).rejects.toThrow(
      /certificate|signature/,
    ));
  it('refuses a certificate that is made out to another host', () =>
    expect(version((url) => (url.hostname = 'localhost'))).rejects.toThrow(/altnames/));
  it('leaves the host to nobody with verify-ca, and the authority too with require', async () => {
    const other = (mode: string, ca?: string) =>
      version((url) => {
        url.hostname = 'localhost';
        url.searchParams.set('sslmode', mode);
        if (ca !== undefined) url.searchParams.set('sslrootcert', ca);
      });
    expect(await other('verify-ca')).toMatch(/^TLS/);
    await expect(other('verify-ca', foreignCa)).rejects.toThrow(/certificate|signature/);
    expect(await other('require', foreignCa)).toMatch(/^TLS/);
  });
  it('refuses a server that offers none', async () => {
    await using plain = await ownPostgres([]);
    await expect(
      version((url) => {
        url.port = new URL(plain.adminUrl).port;
      }),
    ).rejects.toThrow(/does not support SSL/);
  });
});

it('a service with TLS to both is ready and takes calls', async () => {
  const certified = { ca: authority.ca, client, ...authority.certify('127.0.0.1') };
  await using nats = await natsFixture({ services, tls: certified });
  await using postgres = await ownPostgres(services, { tls: certified });
  await using app = await startService(counterService, {
    nats,
    postgres,
    env: {
      CORTEX_NATS_CA_FILE: String(nats.tls?.ca),
      CORTEX_NATS_CERT_FILE: String(nats.tls?.cert),
      CORTEX_NATS_KEY_FILE: String(nats.tls?.key),
    },
  });
  expect(await app.call(counterIncrement, { counter_id: 'one' })).toMatchObject({ total: 1 });
});
