import { checkSchema } from '@cortex/mcp-edge/federation/schemas/check';
import { stepsOf, STEPS } from '@cortex/mcp-edge/federation/schemas/profiles';
import { project } from '@cortex/mcp-edge/federation/schemas/projections';
import { expect, it } from '@jest/globals';
import { loadServices } from '../services.js';

/** Every set of steps. */
const PROFILES = Array.from({ length: 2 ** STEPS.length - 1 }, (_, i) =>
  STEPS.filter((_step, bit) => ((i + 1) >> bit) % 2 === 1).join(','),
);

it('every tool of ours has a form in every schema profile', async () => {
  const tools = (await loadServices()).flatMap(({ def }) => def.tools.map(({ announced }) => announced));
  expect(tools.length).toBeGreaterThan(20);
  expect(stepsOf('inline,flat,strip,draft-07', 'input')).toHaveLength(4);
  for (const { name, input_schema, output_schema } of tools)
    for (const [kind, schema] of [
      ['input', input_schema],
      ['output', output_schema],
    ] as const) {
      const text = JSON.stringify(schema);
      expect([name, checkSchema(text, schema, kind)]).not.toMatchObject([name, { fault: {} }]);
      for (const profile of PROFILES) {
        const form = project(text, profile, kind);
        if ('omitted' in form) throw new Error(`${name} has no ${kind} schema in ${profile}: ${form.omitted}`);
        expect([name, profile, checkSchema(form.text, JSON.parse(form.text), kind)]).not.toMatchObject([
          name,
          profile,
          { fault: {} },
        ]);
      }
    }
});
