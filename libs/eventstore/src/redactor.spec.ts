import { describe, expect, it } from '@jest/globals';
import { DESCRIPTIVE, redact, redactFields } from './redactor.js';

const jwt = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJlLXNpZ25hdHVyZQ';

describe('T89 the redactor', () => {
  it.each([
    ['a JWT', `curl -H x ${jwt}`, jwt],
    ['a GitHub token', 'clone with ghp_abcdefghijklmnopqrstuvwxyz0123456789', 'ghp_abc'],
    ['a fine-grained GitHub token', 'github_pat_11ABCDEFG0abcdefghijkl_xyz', 'github_pat_11'],
    ['a GitLab token', 'glpat-abcdefghijklmnopqrst', 'glpat-abc'],
    ['a Slack token', 'xoxb-123456789012-abcdefghijkl', 'xoxb-1'],
    ['a Slack webhook', 'https://hooks.slack.com/services/T000/B000/XXXXXXXX', 'T000/B000'],
    ['an AWS key id', 'AKIAIOSFODNN7EXAMPLE', 'AKIAIOSF'],
    ['a Google key', 'AIzaSyA1234567890abcdefghijklmnopqrstuv', 'AIzaSy'],
    ['an API key', 'sk-ant-api03-abcdefghijklmnop0123', 'sk-ant'],
    ['a Stripe key', 'sk_live_abcdefghijklmnop0123', 'sk_live'],
    ['an npm token', 'npm_abcdefghijklmnopqrstuvwxyz0123456789', 'npm_abc'],
    ['a NATS seed', 'SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY', 'SUACSS'],
    ['user info of a URL', 'git clone https://me:hunter2@example.com/x.git', 'hunter2'],
    ['user info without a password', 'https://hunter2@example.com', 'hunter2'],
    ['a database URL', 'postgres://u:hunter2@db:5432/x', 'hunter2'],
    ['an environment variable', 'export DB_PASSWORD=hunter2 && run', 'hunter2'],
    ['a quoted value', `API_KEY="hun ter2" run`, 'ter2'],
    ['a JSON field', '{"client_secret":"hunter2","x":1}', 'hunter2'],
    ['an escaped quote in a JSON field', '{"password":"hun\\"ter2"}', 'ter2'],
    ['an option', 'tool --api-key hunter2 run', 'hunter2'],
    ['an option with an equals sign', 'tool --token=hunter2', 'hunter2'],
    ['a header', 'Authorization: Bearer hunter2hunter2', 'hunter2'],
    ['a short bearer', 'authorization: bearer hunter', 'hunter'],
    ['a cookie', 'Cookie: sid=hunter2', 'hunter2'],
    ['a query parameter', 'https://x.example/?a=1&access_token=hunter2&b=2', 'hunter2'],
    ['credentials of curl', 'curl -u me:hunter2 https://x', 'hunter2'],
  ])('hides %s', (_what, text, secret) => {
    const clean = redact(text);
    expect(clean).not.toContain(secret);
    expect(clean).toMatch(/\[redacted:[a-z_]+\]/);
    expect(redact(clean)).toBe(clean);
  });

  it('hides a PEM block, whole or cut off', () => {
    const pem = '-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAK\n-----END RSA PRIVATE KEY-----';
    expect(redact(`key: <${pem}> end`)).toBe('key: <[redacted:pem]> end');
    expect(redact(pem.slice(0, 50))).toBe('[redacted:pem]');
  });

  it.each([
    'list the tokens of this text',
    'max_tokens: 4096, token_count=5',
    'author: Alice; authority = city',
    'the secretary: Bob',
    'see https://example.com/a@b and mail me@example.com',
    'ls -la /home/user/project',
    'basic understandings of a sketch-based task-runner',
    'git commit -m "fix the password form"',
  ])('leaves ordinary text alone: %s', (text) => expect(redact(text)).toBe(text));

  it('takes linear time for text made to be slow', () => {
    for (const piece of ['token', 'eyJ-', 'a://', '-----BEGIN X-----', 'password"', ' --token ', "'secret:"]) {
      redact(piece.repeat(200_000 / piece.length));
    }
  });
});

describe('fields of an event', () => {
  const fields = new Set(DESCRIPTIVE);

  it('that describe are redacted at any depth, and documents keep their text', () => {
    const secret = 'password=hunter2';
    const data = {
      title: secret,
      body: secret,
      argv: ['curl', '-H', 'X-Api-Key: hunter2', '--password', 'hunter2'],
      headers: { authorization: 'hunter2', accept: 'text/html' },
      steps: [{ error: { cause: secret }, text: secret }],
    };
    expect(redactFields(data, fields)).toEqual({
      title: 'password=[redacted:secret]',
      body: secret,
      argv: ['curl', '-H', 'X-Api-Key: [redacted:secret]', '--password', '[redacted:secret]'],
      headers: { authorization: '[redacted:secret]', accept: 'text/html' },
      steps: [{ error: { cause: 'password=[redacted:secret]' }, text: secret }],
    });
  });

  it('that are documents of their aggregate keep their text, with all that is below', () => {
    const secret = 'password=hunter2hunter2';
    const document = { title: secret, description: `${'x'.repeat(70_000)} ${secret}`, output: { error: secret } };
    expect(redactFields(document, fields, new Set(['description', 'output']))).toEqual({
      ...document,
      title: 'password=[redacted:secret]',
    });
  });

  it('without a secret stay the same object', () => {
    const data = { title: 'plain', list: [{ url: 'https://example.com' }], n: null };
    expect(redactFields(data, fields)).toBe(data);
  });
});
