import { describe, expect, it } from '@jest/globals';
import { classify, freshness } from './memory-types.js';

describe('the type that words tell', () => {
  it.each([
    ['Always rotate refresh tokens.', 'instruction'],
    ['The report is due by Friday.', 'commitment'],
    ['The build failed with a timeout.', 'error'],
    ['Our goal is one deploy a day.', 'goal'],
    ['We decided on Postgres.', 'decision'],
    ['Reviewers prefer small commits over large ones.', 'preference'],
    ['Sessions expire after 30 days idle.', 'fact'],
    ['The cluster has 3 replicas in the west.', 'fact'],
    ['Team platform owns the pipeline for everybody.', 'relationship'],
    ['It turns out the cache was cold.', 'learning'],
    ['I noticed the queue growing at night.', 'observation'],
    ['The incident began with a certificate.', 'event'],
    ['We are working on the migration these weeks.', 'context'],
    ['See the README for the whole story.', 'artifact'],
    ['Sky blue', 'fact'],
    ['Something without any telling word at all', 'context'],
    ['musty shoulders', 'fact'],
  ])('of %j is %s', (text, type) => expect(classify(text)).toBe(type));

  it('is the one with the most cues, and of equals the one that weighs more', () => {
    expect(classify('bug and crash and timeout, never mind')).toBe('error');
    expect(classify('never crash')).toBe('instruction');
  });
});

describe('freshness', () => {
  it('is whole now and in the future', () => {
    expect(freshness('fact', 0)).toBe(1);
    expect(freshness('fact', -5)).toBe(1);
  });
  it('is down to 1/e of its range after the hours of its type, and never below 0.02', () => {
    expect(freshness('decision', 336)).toBeCloseTo(0.02 + 0.98 / Math.E, 12);
    expect(freshness('request', 1e9)).toBeCloseTo(0.02, 12);
  });
});
