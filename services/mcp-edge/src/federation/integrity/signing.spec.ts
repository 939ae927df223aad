import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { observedTool, review } from '../../testing/definitions.js';
import { assertSigned, type BaselineDocument, readDocument, signDocument } from './baseline-document.js';
import { catalog, type CatalogCommand } from './catalog.decider.js';
import type { CatalogState, Policy } from './catalog-state.js';
import { distrust, type Keys, keysOf, restartSeal, sealOf } from './seal.js';

const pair = () => generateKeyPairSync('ed25519');
const pem = (key: ReturnType<typeof pair>['privateKey']): string =>
  key.export({ type: key.type === 'private' ? 'pkcs8' : 'spki', format: 'pem' }).toString();
const ours = pair();
const foreign = pair();
const SELF: Keys = { signing: 'self-signed', ...ours };
const NONE: Keys = { signing: 'none' };
const BLOCK: Policy = { mode: 'block', order: 'report', pendingNew: false };
const echo = observedTool('echo', {});
const evil = observedTool('echo', { description: 'Evil.' });

const signer =
  (key = ours.privateKey, at = '2026-12-01T00:00:00.000Z', backend = 'demo') =>
  (kind: 'tool' | 'prompt' | 'template' | 'resource', name: string, digest: string) =>
    sealOf(key, backend, { kind, name }, digest, at);
function stateOf(...commands: CatalogCommand[]): CatalogState {
  return commands.reduce<CatalogState>(
    (state, command) =>
      catalog.decide(command, state).reduce(
        (folded, event) =>
          catalog.evolve(folded, {
            ...event,
            at: '2026-12-01T00:00:00.000Z',
            actor: { kind: 'system', id: 'mcp-edge' },
            workspace: '_',
            version: 1,
          }),
        state,
      ),
    catalog.initial,
  );
}
const approvedBy = (sign: ReturnType<typeof signer> | undefined) =>
  stateOf({ ...review([echo], BLOCK), ...(sign && { sign }) } as CatalogCommand);

describe('the keys', () => {
  it('say who can approve; a PEM in one line is taken, and the public half is derived', () => {
    const oneLine = pem(ours.privateKey).replaceAll('\n', '\\n');
    const keys = keysOf(oneLine, undefined);
    expect(keys.signing).toBe('self-signed');
    expect(keys.publicKey?.equals(createPublicKey(ours.privateKey))).toBe(true);
    expect(keysOf(undefined, pem(ours.publicKey)).signing).toBe('operator');
    expect(keysOf(undefined, undefined)).toEqual({ signing: 'none' });
  });

  it('are refused by the name of their variable when they are none, or of two pairs', () => {
    expect(() => keysOf('no pem', undefined)).toThrow('CORTEX_BASELINE_PRIVATE_KEY is no Ed25519 key');
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
    expect(() => keysOf(undefined, pem(rsa.publicKey))).toThrow('CORTEX_BASELINE_PUBLIC_KEY is no Ed25519 key');
    expect(() => keysOf(pem(ours.privateKey), pem(foreign.publicKey))).toThrow('of another pair');
  });
});

describe('approvals in the log', () => {
  it('are believed with the seal of the configured key, or unsealed where no key is configured', () => {
    expect(distrust('demo', approvedBy(signer()), SELF)).toBeUndefined();
    expect(distrust('demo', approvedBy(undefined), NONE)).toBeUndefined();
  });

  it.each([
    ['without a seal while a key is configured', approvedBy(undefined), SELF, 'without a signature'],
    ['with a seal while none is configured', approvedBy(signer()), NONE, 'no key is configured'],
    [
      'with the seal of a foreign key',
      approvedBy(signer(foreign.privateKey)),
      SELF,
      'not approved with the configured key',
    ],
    ['with a seal for another backend', approvedBy(signer(undefined, undefined, 'other')), SELF, 'not approved with'],
  ])('are not believed %s (T20)', (_, state, keys, why) => expect(distrust('demo', state, keys)).toContain(why));

  it('are not believed when an old one is put in again after a newer one (T33)', () => {
    const later = signer(undefined, '2026-12-02T00:00:00.000Z');
    const yes = { type: 'Acknowledge', kind: 'tool', name: 'echo', by: 'operator' } as const;
    const first: CatalogCommand = { ...review([echo], BLOCK), sign: signer() } as CatalogCommand;
    const moved = stateOf(first, review([evil], BLOCK), { ...yes, sign: later });
    expect(distrust('demo', moved, SELF)).toBeUndefined();
    const back: CatalogCommand = {
      type: 'Adopt',
      by: 'replay',
      entries: [{ ...echo, seal: signer()('tool', 'echo', echo.definition.digest) }],
    };
    const replayed = stateOf(first, review([evil], BLOCK), { ...yes, sign: later }, back);
    expect(distrust('demo', replayed, SELF)).toContain('a newer one had replaced');
  });

  it('are not ended by a start over that is not signed (T20)', () => {
    const start = (seal?: ReturnType<typeof restartSeal>): CatalogCommand => ({
      type: 'Restart',
      why: 'start_over',
      by: 'x',
      ...(seal && { seal }),
    });
    expect(distrust('demo', stateOf(start()), SELF)).toContain('start over is not signed');
    const at = '2026-12-01T00:00:00.000Z';
    expect(distrust('demo', stateOf(start(restartSeal(foreign.privateKey, 'demo', at))), SELF)).toContain('not signed');
    expect(distrust('demo', stateOf(start(restartSeal(ours.privateKey, 'demo', at))), SELF)).toBeUndefined();
  });
});

describe('a signed baseline', () => {
  const plain: BaselineDocument = {
    version: 2,
    savedAt: '2026-12-01T00:00:00.000Z',
    tools: {
      'demo/echo': {
        app: 'demo',
        name: 'echo',
        firstSeenAt: '2026-12-01T00:00:00.000Z',
        fields: { ...echo.definition.fields, title: null },
        digest: echo.definition.digest,
      },
    },
    items: {},
    quarantine: {},
  };
  const signed = (key = ours, document = plain) =>
    signDocument(document, {
      key: key.privateKey,
      publicKey: key.publicKey,
      level: 'operator',
      at: '2026-12-02T00:00:00.000Z',
    });
  const check = (document: unknown) => assertSigned(readDocument(JSON.parse(JSON.stringify(document))), ours.publicKey);

  it('is let pass when the configured key has signed all of it', () => expect(() => check(signed())).not.toThrow());

  it('is refused unsigned, in part, by a foreign key, also under our name, and when a word of it was changed (T20)', () => {
    expect(() => check(plain)).toThrow('is not signed');
    const whole = signed();
    expect(() => check({ ...whole, trust: { ...whole.trust, signed_blocks: ['tools'] } })).toThrow('only in part');
    expect(() => check(signed(foreign))).toThrow('with another key');
    const posing = { ...signed(foreign), signature: { ...signed(foreign).signature, public_key: pem(ours.publicKey) } };
    expect(() => check(posing)).toThrow('changed after it was signed');
    expect(() => check({ ...whole, savedAt: '2026-12-03T00:00:00.000Z' })).toThrow('changed after it was signed');
  });

  it('is refused when an entry does not have its digest, stands under another name or holds an unknown field', () => {
    const entry = plain.tools['demo/echo'];
    const as = (key: string, change: object) => ({ ...plain, tools: { [key]: { ...entry, ...change } } });
    const { description: _, ...less } = echo.definition.fields;
    expect(() => check(as('demo/echo', { fields: less }))).toThrow('another text than its digest');
    expect(() => check(as('demo/other', {}))).toThrow('for another item');
    expect(() => check(as('demo/echo', { fields: { ...entry?.fields, color: '"red"' } }))).toThrow(
      'unknown field color',
    );
    expect(() => check({ version: 3 })).toThrow('no baseline of version 2');
    expect(() => check(null)).toThrow('no baseline of version 2');
  });
});
