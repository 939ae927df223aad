import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { defineTool, result } from './tool.js';

const spec = {
  name: 'counter_add',
  title: 'Add to a counter',
  description: 'Adds to a counter.',
  tier: 'write',
  actions: [],
  workspace: 'required',
  input: z.object({ by: z.number().int().default(1), note: z.string().optional() }),
  output: z.object({ status: z.enum(['done', 'same']), by: z.number() }),
} as const;

it('types the arguments by the input and the answer by the output', () => {
  const tool = defineTool({
    ...spec,
    handle({ by, note }, ctx) {
      const words: string | undefined = note;
      if (ctx.resume) return ctx.wait({ subject: 'cortex.evt.a.b.c.d', after: 0, until: ctx.now() });
      if (words === 'loud') return result({ status: 'same', by }, { isError: true });
      return { status: 'done' as const, by };
    },
  });
  expect(tool.announced.input_schema).toMatchObject({ required: ['workspace_id'], additionalProperties: false });
});

it('does not compile without tier and actions, nor with a wrong answer', () => {
  const { tier: _tier, ...withoutTier } = spec;
  const { actions: _actions, ...withoutActions } = spec;
  const handle = () => ({ status: 'done' as const, by: 1 });
  // @ts-expect-error tier may not be missing
  defineTool({ ...withoutTier, handle });
  // @ts-expect-error actions may not be missing
  expect(() => defineTool({ ...withoutActions, handle })).toThrow(TypeError);
  // @ts-expect-error the answer is not what the output says
  defineTool({ ...spec, handle: () => ({ status: 'other', by: 1 }) });
});
