import { describe, expect, it } from '@jest/globals';
import { assignNames, digestName, exposedName, type Named, type NameSource } from './names.js';

const MAX = 48;
const source = (original: string, more: Partial<NameSource> = {}): NameSource => ({
  id: 'garden',
  prefix: 'garden_',
  kind: 'tool',
  original,
  ...more,
});
const name = (original: string, more: Partial<NameSource> = {}, max = MAX) => exposedName(source(original, more), max);

describe('an exposed name', () => {
  it('is prefix and original where these fit', () => {
    expect(name('list-beds')).toBe('garden_list-beds');
    expect(name('Case_Is-Kept9')).toBe('garden_Case_Is-Kept9');
    expect(name('x'.repeat(41))).toBe(`garden_${'x'.repeat(41)}`);
  });

  it('P44 of a name with spaces is cleaned and ends in a digest', () => {
    expect(name('Automowers Status')).toMatch(/^garden_Automowers_Status_[0-9a-f]{8}$/);
    // Pinned: a new release must not rename anything.
    expect(name('Automowers Status')).toBe('garden_Automowers_Status_e4ea9f5b');
  });

  it('P46 stays apart from another that is spelt alike', () => {
    const alike = ['café', 'cafè', 'cafe\u0301', 'a.b', 'a b', 'a..b'].map((one) => name(one));
    expect(new Set(alike).size).toBe(alike.length);
    expect(alike[0]).toMatch(/^garden_cafe_[0-9a-f]{8}$/);
    const long = ['1', '2'].map((end) => name('y'.repeat(60) + end));
    expect(new Set(long).size).toBe(2);
  });

  it('P43 whose original begins with the name of its server has that twice only as long as nobody configures a shorter prefix', () => {
    expect(name('garden_list')).toBe('garden_garden_list');
    expect(name('garden_list', { prefix: '' })).toBe('garden_list');
    expect(name('garden_list', { prefix: 'g_' })).toBe('g_garden_list');
  });

  it('of which nothing is left is the word of its kind', () => {
    expect(name('天气查询')).toMatch(/^garden_tool_[0-9a-f]{8}$/);
    expect(name('天气查询', { kind: 'prompt' })).toMatch(/^garden_prompt_[0-9a-f]{8}$/);
    expect(name('...')).toMatch(/^garden_tool_[0-9a-f]{8}$/);
  });

  it('P41 P42 never has more characters than it may have, prefix and digest counted', () => {
    for (const original of ['z'.repeat(42), 'z'.repeat(128), 'ä'.repeat(128), 'a b'.repeat(40), '.']) {
      for (const max of [24, 48, 128]) {
        expect(name(original, {}, max).length).toBeLessThanOrEqual(max);
        expect(name(original, {}, max)).toMatch(/^[A-Za-z0-9_-]+$/);
      }
    }
    expect(name('z'.repeat(42))).toMatch(/^garden_z{32}_[0-9a-f]{8}$/);
  });

  it('depends on kind, backend and original, and a prefix changes its beginning alone', () => {
    const end = (made: string) => made.slice(-8);
    expect(end(name('a b'))).not.toBe(end(name('a b', { kind: 'prompt' })));
    expect(end(name('a b'))).not.toBe(end(name('a b', { id: 'other' })));
    expect(end(name('a b'))).toBe(end(name('a b', { prefix: 'g_' })));
  });
});

describe('names of several backends', () => {
  const item = (id: string, original: string, prefix = '', claim?: string): Named => ({
    id,
    prefix,
    kind: 'tool',
    original,
    claim,
  });
  const nobody = () => false;
  const names = (items: Named[], reserved: (name: string) => boolean = nobody) =>
    assignNames(items, reserved, MAX).named.map(({ exposed }) => exposed);

  it('P45 that want the same one both get one: the first the name, the other its own prefix', () => {
    const { named, collisions } = assignNames([item('a', 'send'), item('b', 'send')], nobody, MAX);
    expect(named.map(({ exposed }) => exposed)).toEqual(['send', 'b_send']);
    expect(collisions).toEqual(['tool b/send is called b_send, because send is a/send']);
  });

  it('stay with whoever holds them, whatever the order is', () => {
    expect(names([item('a', 'send'), item('b', 'send', '', 'send')])).toEqual(['a_send', 'send']);
    expect(names([item('a', 'send', '', 'a_send'), item('b', 'other')])).toEqual(['send', 'other']);
  });

  it('T23 that belong to Cortex are given to none, by no prefix', () => {
    const own = (one: string) => one === 'whoami' || one === 'search_memory';
    expect(names([item('a', 'whoami')], own)).toEqual(['a_whoami']);
    expect(names([item('search', 'memory', 'search_')], own)).toEqual([
      digestName({ ...item('search', 'memory'), prefix: 'search_' }, MAX),
    ]);
    expect(names([item('a', 'whoami', '', 'whoami')], own)).toEqual(['a_whoami']);
  });

  it('leave out an item of which every name is taken, and say so', () => {
    const taken = assignNames([item('a', 'send')], () => true, MAX);
    expect(taken.named).toEqual([]);
    expect(taken.collisions).toEqual(['tool a/send is left out, because every name for it is taken']);
  });
});
