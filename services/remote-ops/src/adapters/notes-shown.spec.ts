import { expect, it } from '@jest/globals';
import { NotesShown } from './notes-shown.js';

it('counts a file as new once per reader, device and modification time', () => {
  const shown = new NotesShown();
  expect(shown.take('s1', 'lab', '/AGENTS.md', 1)).toBe(true);
  expect(shown.take('s1', 'lab', '/AGENTS.md', 1)).toBe(false);
  expect(shown.take('s1', 'lab', '/AGENTS.md', 2)).toBe(true);
  expect(shown.take('s1', 'box', '/AGENTS.md', 2)).toBe(true);
  expect(shown.take('s2', 'lab', '/AGENTS.md', 2)).toBe(true);
});
it('forgets the reader that was not seen for longest, and stays small', () => {
  const shown = new NotesShown();
  for (let i = 0; i < 2_000; i++) shown.take(`s${i}`, 'lab', '/a', 1);
  expect(shown.take('s0', 'lab', '/a', 1)).toBe(false);
  shown.take('one more', 'lab', '/a', 1);
  expect(shown.take('s0', 'lab', '/a', 1)).toBe(false);
  expect(shown.take('s1', 'lab', '/a', 1)).toBe(true);
});
