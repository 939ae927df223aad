import { randomUUID } from 'node:crypto';
import { answer } from '@cortex/bus';
import { sessionIssuer, type SessionEvent } from '@cortex/contracts/session';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey } from 'jose';
import type { EdgeFixture } from './edge-fixture.js';
import { record, told } from './gate-log.js';

type Start = Extract<SessionEvent, { type: 'SessionStarted' }>['data'];

/** Stands for the service `session`, under its own name on the bus: signs tokens, answers for their keys, opens and ends sessions. */
export interface TestSessions extends AsyncDisposable {
  /** Requests for the key set so far. */
  readonly asked: number;
  readonly publicKey: CryptoKey;
  /** A token of 5 minutes; claims win over the defaults, undefined leaves one out. */
  token(
    sid: string,
    claims?: Record<string, unknown>,
    header?: Record<string, unknown>,
    key?: CryptoKey,
  ): Promise<string>;
  /** In the log and, unless `untold`, in force at the edge. */
  open(sid: string, start?: Partial<Start> & { workspace?: string | null; untold?: true }): Promise<void>;
  end(sid: string, workspace?: string | null): Promise<void>;
  /** Another key signs from now on; the one before is `kept` in the set or not. */
  rotate(kept: boolean): Promise<void>;
  /** Nobody answers any more. */
  leave(): void;
}

const start: Start = {
  channel: 'web:1',
  project: 'general',
  backend: null,
  provider: null,
  model: null,
  thinking: null,
  mode: null,
  composition: 'direct',
  user_started: true,
  kind: 'direct',
  parent_session_id: null,
  root_session_id: 's',
  person_id: 'per_1',
  agent_id: null,
  groups: ['cortex-core', 'cortex-ext'],
  allowlist: null,
  scopes: ['mcp:cortex:read', 'mcp:cortex:write'],
  execution_id: null,
  trigger: 'cli',
};

export async function testSessions(edge: EdgeFixture): Promise<TestSessions> {
  const bus = await edge.nats.busAs('session');
  let serial = 0;
  let asked = 0;
  const make = async () => ({ ...(await generateKeyPair('EdDSA', { extractable: true })), kid: `session-${++serial}` });
  let keys = [await make()];
  const answering = bus.subscribe('cortex.query.session.jwks', (message) => {
    asked++;
    void Promise.all(
      keys.map(async ({ publicKey, kid }) => ({ ...(await exportJWK(publicKey)), kid, alg: 'EdDSA', use: 'sig' })),
    ).then((set) => answer(bus, message, JSON.stringify({ ok: true, data: { keys: set } })));
  });
  const sessions: TestSessions = {
    get asked() {
      return asked;
    },
    get publicKey() {
      return keys[0]!.publicKey;
    },
    token(sid, claims = {}, header = {}, key = keys[0]!.privateKey) {
      const iat = Math.floor(Date.now() / 1000);
      const usual = {
        iss: sessionIssuer(edge.url),
        aud: edge.url,
        sub: 'per_1',
        sid,
        kind: 'direct',
        groups: start.groups,
        project: 'general',
        channel: 'web:1',
        scope: 'mcp:cortex:read mcp:cortex:write',
        jti: randomUUID(),
        iat,
        exp: iat + 300,
      };
      return new SignJWT({ ...usual, ...claims })
        .setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', kid: keys[0]!.kid, ...header })
        .sign(key);
    },
    async open(sid, { workspace = null, untold, ...given } = {}) {
      const put = untold ? record : told;
      const data = { ...start, root_session_id: sid, ...given };
      await put(edge, 'session.session', { workspace, id: sid }, { type: 'SessionStarted', data });
    },
    async end(sid, workspace = null) {
      await told(edge, 'session.session', { workspace, id: sid }, { type: 'SessionEnded', data: { reason: 'closed' } });
    },
    async rotate(kept) {
      keys = [await make(), ...(kept ? keys : [])];
    },
    leave: () => answering.unsubscribe(),
    [Symbol.asyncDispose]: () => bus.close(),
  };
  return sessions;
}
