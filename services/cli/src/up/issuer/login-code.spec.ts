import { expect, it } from '@jest/globals';
import { LoginCode } from './login-code.js';

it('is another one at every start, of letters that are not misread', () => {
  const codes = Array.from({ length: 50 }, () => new LoginCode().text);
  expect(new Set(codes).size).toBe(50);
  for (const code of codes) expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{5}-[0-9A-HJKMNP-TV-Z]{5}$/);
});

it('is looked at again a minute after 5 wrong entries in a row', () => {
  let now = 0;
  const code = new LoginCode(() => now);
  for (let n = 1; n < 5; n++) expect(code.check('nonsense')).toEqual({ ok: false, locked: 0 });
  expect(code.check('nonsense')).toEqual({ ok: false, locked: 60 });
  now = 59_999;
  expect(code.check(code.text)).toEqual({ ok: false, locked: 1 });
  now = 60_000;
  expect(code.check(code.text)).toEqual({ ok: true, locked: 0 });
});

it('counts wrong entries anew after a right one', () => {
  const code = new LoginCode();
  for (let n = 0; n < 20; n++) expect(code.check(n % 4 === 3 ? code.text : '').locked).toBe(0);
});
