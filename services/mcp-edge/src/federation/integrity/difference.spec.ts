import { describe, expect, it } from '@jest/globals';
import { observedTool } from '../../testing/definitions.js';
import { difference } from './difference.js';

const between = (a: Record<string, unknown>, b: Record<string, unknown>) =>
  difference('tool', observedTool('echo', a).definition.fields, observedTool('echo', b).definition.fields);
const lines = (a: Record<string, unknown>, b: Record<string, unknown>) => between(a, b).flatMap(({ lines }) => lines);

describe('the difference of two definitions', () => {
  it('shows which words of a description went and came', () =>
    expect(between({ description: 'Says it back.' }, { description: 'Says it back, and sends it home.' })).toEqual([
      {
        field: 'description',
        old: 'Says it back.',
        new: 'Says it back, and sends it home.',
        lines: ['Says it [-back.-]{+back, and sends it home.+}'],
      },
    ]));

  it('shows a schema by path', () => {
    const schema = (properties: object) => ({ inputSchema: { type: 'object', properties } });
    expect(
      lines(schema({ q: { type: 'string' }, old: {} }), schema({ q: { type: 'number' }, path: { type: 'string' } })),
    ).toEqual([
      '- /properties/old: {}',
      '~ /properties/q/type: [-string-]{+number+}',
      '+ /properties/path/type: "string"',
    ]);
  });

  it('says a hint as a sentence, an absent one with what it means', () =>
    expect(lines({}, { annotations: { readOnlyHint: true, title: 'E' } })).toEqual([
      'readOnlyHint: it said nothing, so it may change something, now it says that it changes nothing',
      '+ /title: "E"',
    ]));

  it('says of a first definition what it says, and not that it ever said anything else', () => {
    const first = observedTool('echo', { annotations: { readOnlyHint: true, destructiveHint: true } }).definition;
    const [annotations] = difference('tool', undefined, first.fields).filter(({ field }) => field === 'annotations');
    expect(annotations?.lines).toEqual([
      'readOnlyHint: it says that it changes nothing',
      'destructiveHint: it says that it may destroy something',
    ]);
  });

  it('writes what shows nothing, turns the direction or controls a terminal by its name (T22)', () =>
    expect(lines({}, { description: 'Says it\u200b back.\u202e\u001b[2J' })).toEqual([
      'Says [-it back.-]{+it<U+200B> back.<U+202E><U+001B>[2J+}',
    ]));

  it('stays bounded for texts that are made to be long', () => {
    const long = (word: string) => ({ description: `${word} `.repeat(20_000) });
    expect(lines(long('a'), long('b'))).toHaveLength(1);
    const wide = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`p${n}`, { type: 'string' }]));
    expect(lines({}, { outputSchema: { properties: wide } })).toHaveLength(201);
  });
});
