import { PROVISIONER } from '@cortex/contracts/services';
import type { Secrets } from '@cortex/service-kit';
import { counterService, natsFixture, ownPostgres, testAuthority } from '@cortex/testing';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { adminUrl } from './admin.js';
import { provision } from './provision.js';

const before = { ...process.env };
beforeEach(() => void (process.env = { ...before }));
afterEach(() => void (process.env = before));

const authority = testAuthority();
const tls = { ca: authority.ca, client: authority.certify('client'), ...authority.certify('127.0.0.1') };
const services = [counterService];

it('provisions bus and database by TLS, as the variables of services say it, and not without their files', async () => {
  await using nats = await natsFixture({ services, provision: false, tls });
  await using postgres = await ownPostgres([], { tls });
  const secrets = {
    bus: { [PROVISIONER]: nats.passwordOf(PROVISIONER) },
    database: { admin: { user: 'postgres', password: 'test' }, ticket: 'a', ticket_projector: 'b' } as unknown,
  } as Pick<Secrets, 'bus' | 'database'>;
  const run = () =>
    provision(
      { nats_url: nats.url, admin_url: adminUrl({ database_url: postgres.url }, secrets, process.env) },
      secrets,
      services,
    );
  await expect(run()).rejects.toThrow(/certificate|signature/);
  process.env['CORTEX_NATS_CA_FILE'] = '/nowhere/ca.pem';
  await expect(run()).rejects.toThrow('CORTEX_NATS_CA_FILE cannot be read at /nowhere/ca.pem');
  Object.assign(process.env, {
    CORTEX_NATS_CA_FILE: nats.tls?.ca,
    CORTEX_NATS_CERT_FILE: nats.tls?.cert,
    CORTEX_NATS_KEY_FILE: nats.tls?.key,
  });
  await run();
  process.env['CORTEX_DATABASE_URL'] = 'postgres://127.0.0.1/cortex?sslmode=verify-full&sslrootcert=/nowhere/ca.pem';
  expect(run).toThrow('sslrootcert of CORTEX_DATABASE_URL cannot be read at /nowhere/ca.pem');
});
