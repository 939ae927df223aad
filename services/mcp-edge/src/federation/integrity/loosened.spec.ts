import { describe, expect, it } from '@jest/globals';
import { loosened, withheld } from './loosened.js';

const fields = (annotations: object, scope = '"mcp:demo:read"') => ({
  annotations: JSON.stringify(annotations),
  scope,
  description: '"Says it."',
});

describe('a change of the hints of a tool', () => {
  it.each([
    ['readOnlyHint', {}, true],
    ['readOnlyHint', { readOnlyHint: false }, true],
    ['idempotentHint', {}, true],
    ['destructiveHint', {}, false],
    ['destructiveHint', { destructiveHint: true }, false],
    ['openWorldHint', {}, false],
    ['openWorldHint', { openWorldHint: true }, false],
  ])('T21 asks for less care: %s after %j is %j', (name, before, value) => {
    const after = { ...before, [name]: value };
    expect(loosened('tool', fields(before), fields(after))).toEqual([name]);
    // The way back does not, and nor does what was so before.
    expect(loosened('tool', fields(after), fields(before))).toEqual([]);
    expect(loosened('tool', fields(after), fields(after))).toEqual([]);
    const served = withheld(fields(before), { ...fields(after), description: '"New."' }, [name]);
    const { annotations = '{}', description } = served.fields;
    expect([JSON.parse(annotations), description]).toEqual([before, '"New."']);
  });

  it('T21 withholds each of several, with the scope, and lets the others be', () => {
    const before = fields({ title: 'Old', openWorldHint: true });
    const after = fields(
      { title: 'New', openWorldHint: false, readOnlyHint: true, destructiveHint: true },
      '"mcp:demo:all"',
    );
    const names = loosened('tool', before, after);
    expect(names.toSorted()).toEqual(['openWorldHint', 'readOnlyHint', 'scope']);
    const served = withheld(before, after, names).fields;
    expect(JSON.parse(served['annotations'] ?? '')).toEqual({
      title: 'New',
      openWorldHint: true,
      destructiveHint: true,
    });
    expect(served['scope']).toBe('"mcp:demo:read"');
  });

  it('T21 of any other kind counts by its scope alone, in both directions', () => {
    expect(loosened('prompt', fields({}), fields({ readOnlyHint: true }))).toEqual([]);
    expect(loosened('prompt', fields({}, '"a"'), fields({}, '"b"'))).toEqual(['scope']);
    expect(loosened('tool', fields({}, '"a"'), fields({}, 'null'))).toEqual(['scope']);
  });
});
