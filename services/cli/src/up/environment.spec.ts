import { describe, expect, it } from '@jest/globals';
import { SERVICES } from '@cortex/contracts';
import type { Secrets } from '@cortex/service-kit';
import { homeOf } from '../home.js';
import { provisionerEnvironment, serviceEnvironment, withoutCredentials } from './environment.js';
import type { UpState } from './state.js';

const secrets = {
  bus: { 'mcp-edge': 'bus-edge', 'remote-ops': 'bus-ops' },
  database: {
    admin: { user: 'postgres', password: 'db-admin' },
    remote_ops: 'db-ops',
    remote_ops_projector: 'db-proj',
  },
  audit_hash_key: 'audit',
  state_key: 'state',
  admin_secret: 'admin',
  cron_secret: 'cron',
  webhook_token: 'webhook',
  client_token: 'client',
  device_server_key: 'device',
  session_key: 'signing',
  audit_anchor_key: 'anchoring',
} as unknown as Secrets;
const state = {
  issuer: 'http://127.0.0.1:9031',
  canonical_uri: 'http://127.0.0.1:9030/mcp',
  nats_url: 'nats://127.0.0.1:4222',
  database_url: 'postgres://127.0.0.1:5432/cortex',
  ports: { public: 9030, webhooks: 3001, devices: 3002, issuer: 9031 },
} as UpState;
const outside = {
  PATH: '/bin',
  OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318',
  CORTEX_RATE_LIMIT_PER_MINUTE: '1000',
  CORTEX_VAULT_KEY: 'vault',
  AWS_SECRET_ACCESS_KEY: 'canary',
  GITHUB_TOKEN: 'canary',
};
const of = (...services: ('mcp-edge' | 'remote-ops' | 'session' | 'billing' | 'audit')[]) =>
  serviceEnvironment(services, homeOf('/home/x'), state, secrets, outside);

describe('the environment of the provisioner', () => {
  it('says how servers elsewhere are reached, and holds no secret', () => {
    const way = { CORTEX_NATS_CA_FILE: '/ca.crt', CORTEX_NATS_CERT_FILE: '/own.crt', CORTEX_NATS_KEY_FILE: '/own.key' };
    expect(provisionerEnvironment({ ...outside, ...way, NODE_ENV: 'production' })).toEqual({
      PATH: '/bin',
      ...way,
      NODE_ENV: 'production',
    });
  });
});

describe('the environment of a service', () => {
  it('T60 holds nothing of ours that is no setting of Cortex', () => {
    for (const env of [of('billing'), serviceEnvironment(SERVICES, homeOf('/x'), state, secrets, outside)]) {
      expect(Object.values(env)).not.toContain('canary');
    }
    expect(of('billing')).toMatchObject({ PATH: '/bin', CORTEX_RATE_LIMIT_PER_MINUTE: '1000' });
  });

  it('names the file of approved definitions to the edge, unless somebody named another', () => {
    expect(of('mcp-edge')['CORTEX_TOOL_BASELINE_FILE']).toBe('/home/x/config/tool-baseline.json');
    expect(of('billing')).not.toHaveProperty('CORTEX_TOOL_BASELINE_FILE');
    const named = { CORTEX_TOOL_BASELINE_FILE: '/elsewhere.json' };
    expect(serviceEnvironment(['mcp-edge'], homeOf('/x'), state, secrets, named)).toMatchObject(named);
  });

  it('holds no password where it has several: each of them is read from the home by its name', () => {
    expect(of('mcp-edge', 'audit')).not.toHaveProperty('CORTEX_NATS_USER');
    expect(of('mcp-edge', 'audit')).not.toHaveProperty('CORTEX_NATS_PASSWORD');
    expect(of('mcp-edge', 'audit')).toMatchObject({ CORTEX_AUDIT_ANCHOR_KEY: 'anchoring', CORTEX_STATE_KEY: 'state' });
  });

  it('T60 holds its own passwords and the secrets it owns, and no others', () => {
    expect(of('remote-ops')).toMatchObject({
      CORTEX_NATS_USER: 'remote-ops',
      CORTEX_NATS_PASSWORD: 'bus-ops',
      CORTEX_DATABASE_PASSWORD: 'db-ops',
      CORTEX_DATABASE_PROJECTOR_PASSWORD: 'db-proj',
      CORTEX_CLIENT_TOKEN: 'client',
      CORTEX_DEVICE_SERVER_KEY: 'device',
    });
    const values = Object.values(of('remote-ops'));
    for (const other of ['bus-edge', 'db-admin', 'audit', 'state', 'admin', 'cron', 'webhook', 'vault']) {
      expect(values).not.toContain(other);
    }
    expect(of('mcp-edge')).toMatchObject({ CORTEX_AUDIT_HASH_KEY: 'audit', CORTEX_VAULT_KEY: 'vault' });
    expect(Object.values(of('mcp-edge'))).not.toContain('client');
  });

  it('T60 holds what concerns backends, and their tokens at the edge alone', () => {
    const given = {
      CORTEX_BACKENDS: 'demo',
      CORTEX_BACKEND_DEMO_URL: 'http://127.0.0.1:4820',
      CORTEX_TECHNICAL_TOKEN: 'technical',
      CORTEX_TECHNICAL_CLIENT_SECRET: 'of the client',
      CORTEX_BACKEND_DEMO_TECHNICAL_TOKEN: 'technical of demo',
      CORTEX_BACKEND_DEMO_EVENT_TOKEN: 'events of demo',
    };
    const env = (service: 'mcp-edge' | 'billing') => serviceEnvironment([service], homeOf('/x'), state, secrets, given);
    expect(env('mcp-edge')).toMatchObject(given);
    expect(env('billing')['CORTEX_BACKENDS']).toBe('demo');
    expect(Object.keys(env('billing')).filter((name) => /_(TOKEN|CLIENT_SECRET)$/.test(name))).toEqual([]);
  });

  it('T02 holds the key that signs session tokens only where they are signed', () => {
    expect(of('session')).toMatchObject({ CORTEX_SESSION_KEY: 'signing' });
    for (const service of ['mcp-edge', 'remote-ops', 'billing'] as const)
      expect(Object.values(of(service))).not.toContain('signing');
  });

  it('T90 holds the key that signs anchors of the audit trail at the audit service alone', () => {
    expect(of('audit')).toMatchObject({ CORTEX_AUDIT_ANCHOR_KEY: 'anchoring' });
    for (const service of ['mcp-edge', 'session', 'billing'] as const)
      expect(Object.values(of(service))).not.toContain('anchoring');
  });

  it('names the owner to the edge where people come from the issuer of the home', () => {
    expect(of('mcp-edge')['CORTEX_OWNER_SUB']).toBe('owner');
    const elsewhere = { ...state, issuer: null };
    expect(serviceEnvironment(['mcp-edge'], homeOf('/x'), elsewhere, secrets, {})['CORTEX_OWNER_SUB']).toBeUndefined();
  });

  it('prefers a secret that the operator set', () => {
    const env = serviceEnvironment(['mcp-edge'], homeOf('/x'), state, secrets, { CORTEX_ADMIN_SECRET: 'mine' });
    expect(env['CORTEX_ADMIN_SECRET']).toBe('mine');
  });

  it('names no user and no password in an address', () => {
    expect(withoutCredentials('postgres://me:secret@db.example:5432/cortex?sslmode=require')).toBe(
      'postgres://db.example:5432/cortex?sslmode=require',
    );
    expect(withoutCredentials('nats://u:p@a:4222,nats://b:4222')).toBe('nats://a:4222,nats://b:4222');
  });
});
