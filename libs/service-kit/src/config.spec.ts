import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { readConfig } from './config.js';
import { loadSecrets } from './secrets.js';
import { defineService } from './service.js';

const ticket = defineService({
  name: 'ticket',
  config: z.object({ TICKET_LIMIT: z.coerce.number().int().positive(), TICKET_URL: z.url().optional() }),
  tools: [],
});
const review = defineService({ name: 'review', config: z.object({ REVIEW_TOKEN: z.string() }), tools: [] });

let home: string;
beforeEach(() => void (home = mkdtempSync(join(tmpdir(), 'cortex-config-'))));
afterEach(() => rmSync(home, { recursive: true }));

const good = () => ({
  CORTEX_HOME: home,
  CORTEX_NATS_URL: 'nats://127.0.0.1:4222',
  CORTEX_DATABASE_URL: 'postgres://127.0.0.1:5432/cortex',
  CORTEX_NATS_PASSWORD: 'n',
  CORTEX_DATABASE_PASSWORD: 'd',
  CORTEX_DATABASE_PROJECTOR_PASSWORD: 'p',
  TICKET_LIMIT: '3',
});
const secretsFile = (content: string) => {
  mkdirSync(join(home, 'config'));
  writeFileSync(join(home, 'config', 'secrets.json'), content);
};

describe('configuration', () => {
  it('names every bad variable of every service in one error', () => {
    const env = {
      CORTEX_HOME: home,
      CORTEX_DATABASE_URL: 'mysql://x',
      CORTEX_OPS_PORT: '70000',
      TICKET_LIMIT: 'many',
      TICKET_URL: 'no',
    };
    const read = () => readConfig([ticket, review], env);
    for (const name of [
      'CORTEX_NATS_URL is missing',
      'CORTEX_DATABASE_URL must be',
      'TICKET_LIMIT',
      'TICKET_URL',
      'REVIEW_TOKEN is missing',
      'CORTEX_OPS_PORT',
    ]) {
      expect(read).toThrow(name);
    }
  });

  it('says where a password was looked for', () => {
    const { CORTEX_NATS_PASSWORD: _, ...env } = good();
    expect(() => readConfig([ticket], env)).toThrow(
      /CORTEX_NATS_PASSWORD of ticket is missing, and there is no .*secrets\.json/,
    );
  });

  it('never shows a value, which may be a secret', () => {
    const env = { ...good(), CORTEX_DATABASE_URL: 'hunter2', TICKET_LIMIT: 'hunter2', TICKET_URL: 'hunter2' };
    const text = (() => {
      try {
        readConfig([ticket], env);
        return '';
      } catch (error) {
        return String(error) + JSON.stringify(error);
      }
    })();
    expect(text).toContain('TICKET_LIMIT');
    expect(text).not.toContain('hunter2');
  });

  it('takes an empty variable for an unset one', () => {
    expect(readConfig([ticket], { ...good(), TICKET_URL: '', CORTEX_OPS_PORT: '' }).shared.CORTEX_OPS_PORT).toBe(9464);
  });

  it('gives each service its own parsed values and passwords', () => {
    const { services } = readConfig([ticket], good());
    expect(services).toEqual([
      {
        config: { TICKET_LIMIT: 3 },
        credentials: { busUser: 'ticket', busPassword: 'n', databasePassword: 'd', projectorPassword: 'p' },
      },
    ]);
  });

  it('reads ~ as the home of the user', () => {
    expect(readConfig([ticket], { ...good(), CORTEX_HOME: '~/nowhere' }).shared.CORTEX_HOME).not.toContain('~');
  });
});

describe('secrets', () => {
  it('are null in a home that has none', () => expect(loadSecrets(home)).toBeNull());

  it('that are damaged are refused by name, without a value', () => {
    secretsFile('{"version":1,"bus":{"ticket":""},"state_key":"hunter2"}');
    expect(() => loadSecrets(home)).toThrow(/is damaged \(bus\.ticket, database.*; restore it/);
    expect(() => loadSecrets(home)).not.toThrow(/hunter2/);
  });

  it('that are no JSON are refused', () => {
    secretsFile('{');
    expect(() => loadSecrets(home)).toThrow('is damaged');
  });
});
