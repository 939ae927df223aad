import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { tempDir } from '@cortex/testing/temp-dir';
import { IssuerStore } from './store.js';

const HOUR_S = 3_600;
let file: string;
let now: number;
let store: IssuerStore;
const open = (): IssuerStore =>
  new IssuerStore(
    file,
    () => undefined,
    () => now,
  );
beforeEach(async () => {
  file = join(await tempDir('store'), 'logins.json');
  now = 1_000_000_000_000;
  store = open();
});

const addClients = async (from: number, to: number): Promise<void> => {
  for (let n = from; n < to; n++) await store.adapter('Client').upsert(`c${n}`, { client_id: `c${n}` });
};

describe('the store of the issuer', () => {
  it('keeps clients, grants and refresh tokens, and nothing of what lives for minutes', async () => {
    await store.adapter('Client').upsert('c1', { client_id: 'c1' });
    await store.adapter('Grant').upsert('g1', { clientId: 'c1' }, HOUR_S);
    await store.adapter('RefreshToken').upsert('r1', { grantId: 'g1' }, HOUR_S);
    await store.adapter('AuthorizationCode').upsert('a1', { grantId: 'g1' }, 60);
    const later = open();
    expect(await later.adapter('Client').find('c1')).toEqual({ client_id: 'c1' });
    expect(await later.adapter('Grant').find('g1')).toEqual({ clientId: 'c1' });
    expect(await later.adapter('RefreshToken').find('r1')).toEqual({ grantId: 'g1' });
    expect(await later.adapter('AuthorizationCode').find('a1')).toBeUndefined();
  });

  it('gives nothing after its time', async () => {
    await store.adapter('Grant').upsert('g1', {}, HOUR_S);
    now += HOUR_S * 1000 - 1;
    expect(await store.adapter('Grant').find('g1')).toEqual({});
    now += 1;
    expect(await store.adapter('Grant').find('g1')).toBeUndefined();
  });

  it('knows after a restart that a refresh token was used', async () => {
    await store.adapter('RefreshToken').upsert('r1', { grantId: 'g1' }, HOUR_S);
    await store.adapter('RefreshToken').consume('r1');
    expect(await open().adapter('RefreshToken').find('r1')).toMatchObject({ consumed: now / 1000 });
  });

  it('forgets the oldest used refresh tokens of a login that lasts', async () => {
    const tokens = store.adapter('RefreshToken');
    for (let n = 0; n < 30; n++) {
      await tokens.upsert(`r${n}`, { grantId: 'g1' }, HOUR_S);
      await tokens.consume(`r${n}`);
    }
    expect(await tokens.find('r9')).toBeUndefined();
    expect(await tokens.find('r10')).toBeDefined();
  });

  it('drops the tokens of a grant that is revoked, and of no other', async () => {
    const tokens = store.adapter('RefreshToken');
    await tokens.upsert('r1', { grantId: 'g1' }, HOUR_S);
    await tokens.upsert('r2', { grantId: 'g2' }, HOUR_S);
    await tokens.revokeByGrantId('g1');
    expect(await open().adapter('RefreshToken').find('r1')).toBeUndefined();
    expect(await tokens.find('r2')).toBeDefined();
  });

  it('T18 holds 200 clients: a flood drives out those that nobody logged in, not those in use', async () => {
    await addClients(0, 2);
    await store.adapter('Grant').upsert('g1', { clientId: 'c0' }, HOUR_S);
    await addClients(2, 300);
    expect(await store.adapter('Client').find('c0')).toBeDefined();
    expect(await store.adapter('Client').find('c1')).toBeUndefined();
    expect(await store.adapter('Client').find('c299')).toBeDefined();
    const kept = JSON.parse(readFileSync(file, 'utf8')) as { Client: object };
    expect(Object.keys(kept.Client)).toHaveLength(200);
  });

  it('T18 holds 1000 pages that wait', async () => {
    const pages = store.adapter('Interaction');
    for (let n = 0; n < 1_100; n++) await pages.upsert(`i${n}`, {}, HOUR_S);
    expect(await pages.find('i99')).toBeUndefined();
    expect(await pages.find('i1099')).toBeDefined();
  });

  it('is not changed through what it gave', async () => {
    await store.adapter('Client').upsert('c1', { client_name: 'a' });
    const found = await store.adapter('Client').find('c1');
    if (found) found.client_name = 'b';
    expect(await store.adapter('Client').find('c1')).toEqual({ client_name: 'a' });
  });
});
