import { beforeEach, expect, it } from '@jest/globals';
import { Breaker } from './breaker.js';

let now: number;
let breaker: Breaker;
beforeEach(() => {
  now = 0;
  breaker = new Breaker(() => now);
});
const fail = (times: number): void => {
  for (let i = 0; i < times; i++) breaker.failed();
};

it('opens for 15 s after five failures in a row', () => {
  fail(4);
  breaker.succeeded();
  fail(4);
  expect(breaker.ask()).toEqual({ go: true, trial: false });
  fail(1);
  expect(breaker.ask()).toEqual({ go: false, retryAfterMs: 15_000 });
  now = 14_000;
  expect(breaker.ask()).toEqual({ go: false, retryAfterMs: 1_000 });
});

it('lets one trial through after that, which closes it or opens it again', () => {
  fail(5);
  now = 15_000;
  expect(breaker.ask()).toEqual({ go: true, trial: true });
  expect(breaker.ask()).toMatchObject({ go: false });
  breaker.failed();
  expect(breaker.ask()).toEqual({ go: false, retryAfterMs: 15_000 });
  now = 30_000;
  expect(breaker.ask()).toEqual({ go: true, trial: true });
  breaker.succeeded();
  expect(breaker.ask()).toEqual({ go: true, trial: false });
  expect(breaker.ask()).toEqual({ go: true, trial: false });
});

it('gives the trial to the next one when its caller left before the answer', () => {
  fail(5);
  now = 15_000;
  breaker.ask();
  breaker.undecided(true);
  expect(breaker.ask()).toEqual({ go: true, trial: true });
});
