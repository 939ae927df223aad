import { describe, expect, it } from '@jest/globals';
import { allowed, IssuerFixture } from '../../faults/issuer.js';

const issuer = IssuerFixture.forEach();

describe('a code', () => {
  it('used twice ends the whole login', async () => {
    const client = await issuer.client();
    const code = await client.code(issuer.loginCode);
    const { body } = await client.exchange(code);
    expect((await client.exchange(code)).body.error).toBe('invalid_grant');
    expect((await client.refresh(body.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('used twice at once is good for one token at most', async () => {
    const client = await issuer.client();
    const code = await client.code(issuer.loginCode);
    const answers = await Promise.all(Array.from({ length: 8 }, () => client.exchange(code)));
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
    expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
  });

  it('needs the verifier of its challenge', async () => {
    const client = await issuer.client();
    const code = await client.code(issuer.loginCode);
    expect((await client.exchange(code, { code_verifier: 'x'.repeat(43) })).body.error).toBe('invalid_grant');
    expect((await client.exchange(code, { code_verifier: '' })).body.error).toBe('invalid_grant');
  });

  it.each([
    ['no challenge', { code_challenge: undefined, code_challenge_method: undefined }],
    ['a plain challenge', { code_challenge_method: 'plain' }],
    ['a challenge that is plain because it does not say', { code_challenge_method: undefined }],
  ])('is not given for %s', async (_what, parameters) => {
    const { page } = await issuer.waiting(parameters);
    expect(page.left?.searchParams.get('error')).toBe('invalid_request');
    expect(allowed(page)).toBe(false);
  });

  it('is of no use to another client', async () => {
    const client = await issuer.client();
    const other = await issuer.client();
    const code = await client.code(issuer.loginCode);
    expect((await other.exchange(code, { code_verifier: client.verifier })).body.error).toBe('invalid_grant');
  });

  it.each([
    'https://evil.example/callback',
    'http://127.0.0.1:7777/other',
    'http://127.0.0.1.evil.example:7777/callback',
    'http://127.0.0.1:7777/callback/../x',
    'http://user@127.0.0.1:7777/callback',
    'javascript:alert(1)',
    '//evil.example',
  ])('never goes to %s, which the client did not register, and the browser neither', async (redirect_uri) => {
    const { page } = await issuer.waiting({ redirect_uri });
    expect(page).toMatchObject({ status: 400, left: null });
    expect(page.text).toContain('invalid_redirect_uri');
  });
});

describe('a refresh token', () => {
  it('is used once; used again it ends the whole login, also over a restart', async () => {
    const { client, tokens } = await issuer.login();
    const { body: second } = await client.refresh(tokens.refresh_token);
    await issuer.restart();
    expect((await client.refresh(tokens.refresh_token)).body.error).toBe('invalid_grant');
    expect((await client.refresh(second.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('P58 used twice at once gives the same successor, which goes on', async () => {
    const { client, tokens } = await issuer.login();
    const answers = await Promise.all(Array.from({ length: 8 }, () => client.refresh(tokens.refresh_token)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const [successor = '', ...others] = new Set(answers.map(({ body }) => body.refresh_token));
    expect(others).toEqual([]);
    expect((await client.refresh(successor)).status).toBe(200);
  });

  it('P58 used again after its successor was used ends the whole login', async () => {
    const { client, tokens } = await issuer.login();
    const { body: second } = await client.refresh(tokens.refresh_token);
    const { body: third } = await client.refresh(second.refresh_token);
    expect((await client.refresh(tokens.refresh_token)).body.error).toBe('invalid_grant');
    expect((await client.refresh(third.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('is of no use to another client, also right after it was used', async () => {
    const { client, tokens } = await issuer.login();
    const other = await issuer.client();
    await client.refresh(tokens.refresh_token);
    expect((await other.refresh(tokens.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('gives no scope that the login did not', async () => {
    const { client, tokens } = await issuer.login({ scope: 'mcp:cortex:read' });
    const grant = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, scope: 'mcp:cortex:admin' };
    expect((await client.token(grant)).body.error).toBe('invalid_scope');
  });
});
