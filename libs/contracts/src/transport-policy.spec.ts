import { describe, expect, it } from '@jest/globals';
import { transportVerdict } from './transport-policy.js';

const kindOf = (text: string, insecure = false) => {
  const verdict = transportVerdict(text, insecure);
  return verdict.allowed ? verdict.plaintext : verdict.problem;
};

describe('a URL that an operator configured', () => {
  it.each(['https://app.example', 'https://10.0.0.7:8443/x', 'HTTPS://APP.EXAMPLE', 'https://127.0.0.1.example'])(
    'may be %s',
    (url) => expect(kindOf(url)).toBe('no'),
  );

  it.each([
    'http://127.0.0.1:3000',
    'http://localhost',
    'http://[::1]:1',
    'http://127.1',
    'http://0x7f000001',
    'http://2130706433',
  ])('may be plaintext to this machine: %s', (url) => expect(kindOf(url)).toBe('loopback'));

  it.each([
    'http://app.example',
    'http://app.example:8080/x',
    'http://10.0.0.7',
    'http://0.0.0.0:1',
    'http://127.0.0.1.evil.example',
    'http://127.evil.example',
    'http://localhost.evil.example',
    'http://evil.example/#127.0.0.1',
    'http://[::ffff:8.8.8.8]',
  ])('may be plaintext to another machine only where that is said: %s', (url) => {
    expect(kindOf(url)).toMatch(/^is http to another machine/);
    expect(kindOf(url, true)).toBe('remote');
  });

  it.each(['http://user@127.0.0.1', 'https://user:secret@app.example', 'https://:secret@app.example'])(
    'holds no user and no password, which is said without them: %s',
    (url) => {
      expect(kindOf(url, true)).toMatch(/^holds a user or a password/);
      expect(kindOf(url, true)).not.toMatch(/secret@/);
    },
  );

  it.each(['ftp://app.example', 'file:///etc/passwd', 'javascript:alert(1)', 'app.example', '/x', ''])(
    'is nothing else: %j',
    (url) => expect(kindOf(url, true)).toMatch(/^is (neither http nor https|neither https nor http|no absolute URL)/),
  );
});
