import { type Projection, project } from './projections.js';

/** The schemas of one definition, as texts. The object stands for the definition: what was worked out for it is kept with it. */
export interface Schemas {
  readonly input: string;
  readonly output: string | undefined;
}

/** The same in a profile, or why there is no such form. */
export type Form =
  | { readonly input: string; readonly output: string | undefined; readonly changed: boolean }
  | { readonly omitted: string };

const forms = new WeakMap<Schemas, Map<string, Form>>();

/** Worked out once per definition and profile; forgotten with the definition. `profile` is spelled as `profileOf` does. */
export function formOf(schemas: Schemas, profile: string): Form {
  let known = forms.get(schemas);
  if (known === undefined) forms.set(schemas, (known = new Map<string, Form>()));
  let form = known.get(profile);
  if (form === undefined) known.set(profile, (form = made(schemas, profile)));
  return form;
}

/** Whether this form was worked out already. */
export const hasForm = (schemas: Schemas, profile: string): boolean => forms.get(schemas)?.has(profile) === true;

function made({ input, output }: Schemas, profile: string): Form {
  const asked: Projection = project(input, profile, 'input');
  if ('omitted' in asked) return { omitted: `its inputSchema has no such form: ${asked.omitted}` };
  if (output === undefined) return { input: asked.text, output, changed: asked.changed };
  const answered = project(output, profile, 'output');
  if ('omitted' in answered) return { omitted: `its outputSchema has no such form: ${answered.omitted}` };
  return { input: asked.text, output: answered.text, changed: asked.changed || answered.changed };
}
