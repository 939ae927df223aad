import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { busFaults, databaseFaults } from './server-faults.js';

let dir: string;
let pem: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'cortex-pem-'));
  pem = join(dir, 'file.pem');
  writeFileSync(pem, 'PEM');
});
afterAll(() => rmSync(dir, { recursive: true }));

const bus = (CORTEX_NATS_URL: string, more: NodeJS.ProcessEnv = {}) => busFaults({ CORTEX_NATS_URL, ...more });
const database = (url: string, more: NodeJS.ProcessEnv = {}) =>
  databaseFaults({ CORTEX_DATABASE_URL: `postgres://${url}`, ...more });
const production = { NODE_ENV: 'production' };

describe('the way to the bus', () => {
  it('is plain to this machine, and to others outside production', () => {
    for (const url of ['nats://127.0.0.1:4222', 'nats://localhost:4222', 'nats://[::1]:4222', '127.0.0.1:4222'])
      expect(bus(url, production)).toEqual([]);
    expect(bus('nats://nats:4222')).toEqual([]);
    expect(bus('nats://nats:4222', { NODE_ENV: 'development' })).toEqual([]);
  });

  it('is refused without TLS to another machine in production, unless its operator says so', () => {
    for (const url of [
      'nats://nats:4222',
      'nats:4222',
      'nats://127.0.0.1.evil.example:4222',
      'nats://a,nats://127.0.0.1',
    ])
      expect(bus(url, production)).toEqual([
        'CORTEX_NATS_URL leads to another machine without TLS; write tls://, or set CORTEX_ALLOW_INSECURE_SERVERS=true',
      ]);
    expect(bus('tls://nats:4222', production)).toEqual([]);
    for (const on of ['true', '1', 'on'])
      expect(bus('nats://nats:4222', { ...production, CORTEX_ALLOW_INSECURE_SERVERS: on })).toEqual([]);
  });

  it('names the file that is not there', () => {
    const files = { CORTEX_NATS_CA_FILE: '/nowhere/ca.pem', CORTEX_NATS_CERT_FILE: pem, CORTEX_NATS_KEY_FILE: pem };
    expect(bus('tls://nats:4222', files)).toEqual([
      'CORTEX_NATS_CA_FILE cannot be read at /nowhere/ca.pem (ENOENT); mount the PEM file there',
    ]);
  });

  it('has a certificate with its key, and both only with TLS', () => {
    expect(bus('tls://nats:4222', { CORTEX_NATS_CERT_FILE: pem })).toEqual([
      'CORTEX_NATS_CERT_FILE and CORTEX_NATS_KEY_FILE belong together; set both',
    ]);
    expect(bus('nats://nats:4222', { CORTEX_NATS_CA_FILE: pem })).toEqual([
      'CORTEX_NATS_CA_FILE is set, but CORTEX_NATS_URL is nats://; write tls:// there',
    ]);
  });

  it('is one and the same for all servers, by an address of a bus', () => {
    expect(bus('tls://a:4222,nats://b:4222')[0]).toMatch(/mixes/);
    for (const url of ['https://nats:4222', 'tls://', 'a b']) expect(bus(url)[0]).toMatch(/no address of a bus/);
  });
});

describe('the way to the database', () => {
  it('is refused without TLS to another machine in production, unless its operator says so', () => {
    for (const url of ['db/cortex', 'db/cortex?sslmode=disable', '10.0.0.1:5432/cortex'])
      expect(database(url, production)).toEqual([
        'CORTEX_DATABASE_URL leads to another machine without TLS; add sslmode=verify-full, or set CORTEX_ALLOW_INSECURE_SERVERS=true',
      ]);
    for (const url of ['127.0.0.1:5432/cortex', '[::1]/cortex', `db/cortex?sslmode=verify-full&sslrootcert=${pem}`])
      expect(database(url, production)).toEqual([]);
    expect(database('db/cortex')).toEqual([]);
    expect(database('db/cortex', { ...production, CORTEX_ALLOW_INSECURE_SERVERS: 'true' })).toEqual([]);
  });

  it('is encrypted or not: a mode that leaves it to the server is refused', () => {
    for (const mode of ['prefer', 'allow', 'no-verify', ''])
      expect(database(`db/cortex?sslmode=${mode}`)).toEqual([
        'CORTEX_DATABASE_URL has an sslmode that is none of disable, require, verify-ca, verify-full; take verify-full',
      ]);
  });

  it('names the file that is not there, and what would not be used', () => {
    expect(database('db/cortex?sslmode=verify-full&sslrootcert=/nowhere/ca.pem')).toEqual([
      'sslrootcert of CORTEX_DATABASE_URL cannot be read at /nowhere/ca.pem (ENOENT); mount the PEM file there',
    ]);
    expect(database(`db/cortex?sslmode=verify-full&sslcert=${pem}`)).toEqual([
      'CORTEX_DATABASE_URL has one of sslcert and sslkey; give both',
    ]);
    expect(database(`db/cortex?sslrootcert=${pem}`)).toEqual([
      'CORTEX_DATABASE_URL has sslrootcert without TLS; add sslmode=verify-full',
    ]);
  });
});
