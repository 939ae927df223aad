import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startService, type RunningService } from '@cortex/testing';
import { SessionModule } from './session.module.js';

let app: RunningService;
beforeAll(async () => {
  app = await startService(SessionModule);
});
afterAll(async () => app[Symbol.asyncDispose]());

interface Opened {
  session_id: string;
  channel: string;
  execution_id: string;
  token: string;
  expires_at: string;
  groups: string[];
  scopes: string[];
}
const ALL = ['mcp:cortex:read', 'mcp:cortex:write', 'mcp:cortex:devices', 'mcp:cortex:admin'];
const open = (args: object = {}, options = {}) =>
  app.ask<Opened>('cmd', 'open_session', { person_id: 'per_1', scopes: ALL, ...args }, { workspace: null, ...options });
const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>;

describe('a session that is opened', () => {
  it('has the composition and the scopes of a direct one, and its token says all of it', async () => {
    const opened = await open();
    const { session_id } = opened;
    expect(opened).toMatchObject({
      channel: `web:${session_id}`,
      project: 'general',
      workspace_id: null,
      execution_id: expect.stringMatching(/^exec_local_[0-9a-z]+_[0-9a-f]{4}$/),
      groups: ['cortex-core', 'cortex-ext', 'cortex-interaction-bridge', 'cortex-web'],
    });
    expect(claimsOf(opened.token)).toMatchObject({
      iss: 'http://127.0.0.1:9030/session',
      aud: 'http://127.0.0.1:9030/mcp',
      sub: 'per_1',
      sid: session_id,
      kind: 'direct',
    });
  });
});
