import { expect, it } from '@jest/globals';
import { firstSentence } from './first-sentence.js';

it.each([
  ['Closes a ticket. Open ones are in list_tickets.', 'Closes a ticket.'],
  ['  Really?\n Yes. ', 'Really?'],
  ['Reads v1.2 of a file', 'Reads v1.2 of a file'],
  ['关闭工单。先用 list_tickets。', '关闭工单。'],
  ['', ''],
])('the first sentence of %j is %j', (description, sentence) => expect(firstSentence(description)).toBe(sentence));

it('a long one is cut at 120 characters, none of them in half', () => {
  const cut = firstSentence('😀'.repeat(200));
  expect(Array.from(cut)).toHaveLength(120);
  expect(cut).toBe(cut.toWellFormed());
  expect(cut.endsWith('😀…')).toBe(true);
});
