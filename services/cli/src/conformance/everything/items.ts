import { answersOf, asks, type Call, field, form, type Json, PNG, type Run, SCOPE, text } from './call.js';

const says = (...contents: Json[]): Json => ({ messages: contents.map((content) => ({ role: 'user', content })) });
const argumentsOf = ({ params }: Call): Json => (params['arguments'] ?? {}) as Json;
const required = (...names: string[]): Json[] =>
  names.map((name) => ({ name, description: `What ${name} is`, required: true }));

export interface FixturePrompt {
  readonly description: string;
  readonly arguments?: readonly Json[];
  readonly run: Run;
}

export const prompts: Record<string, FixturePrompt> = {
  test_simple_prompt: {
    description: 'A prompt without arguments.',
    run: () => says(text('This is a simple prompt for testing.')),
  },
  test_prompt_with_arguments: {
    description: 'A prompt with two arguments.',
    arguments: required('arg1', 'arg2'),
    run(call) {
      const { arg1, arg2 } = argumentsOf(call);
      return says(text(`Prompt with arguments: arg1='${String(arg1)}', arg2='${String(arg2)}'`));
    },
  },
  test_prompt_with_embedded_resource: {
    description: 'A prompt with a resource in it.',
    arguments: required('resourceUri'),
    run(call) {
      const uri = argumentsOf(call)['resourceUri'];
      const resource = { uri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' };
      return says({ type: 'resource', resource }, text('Please process the embedded resource above.'));
    },
  },
  test_prompt_with_image: {
    description: 'A prompt with a picture in it.',
    run: () => says({ type: 'image', data: PNG, mimeType: 'image/png' }, text('Please analyze the image above.')),
  },
  test_input_required_result_prompt: {
    description: 'A prompt that asks before it is there.',
    run(call) {
      const context = field(answersOf(call)['user_context'], 'context');
      if (typeof context !== 'string')
        return asks({ user_context: form('What is this about?', { context: { type: 'string' } }) });
      return says(text(`Consider this: ${context}`));
    },
  },
};

interface FixtureResource {
  readonly name: string;
  readonly description: string;
  readonly mimeType: string;
  readonly content: { readonly text: string } | { readonly blob: string };
}

const resources: Record<string, FixtureResource> = {
  'test://static-text': {
    name: 'Static text',
    description: 'A text that stays the same.',
    mimeType: 'text/plain',
    content: { text: 'This is the content of the static text resource.' },
  },
  'test://static-binary': {
    name: 'Static binary',
    description: 'A picture that stays the same.',
    mimeType: 'image/png',
    content: { blob: PNG },
  },
  'test://watched-resource': {
    name: 'Watched resource',
    description: 'A text that may be watched.',
    mimeType: 'text/plain',
    content: { text: 'Watched resource content.' },
  },
};

export const listedResources = (): Json[] =>
  Object.entries(resources).map(([uri, { name, description, mimeType }]) => ({
    uri,
    name,
    description,
    mimeType,
    scope: SCOPE,
  }));

export const listedTemplates = (): Json[] => [
  {
    uriTemplate: 'test://template/{id}/data',
    name: 'Data by id',
    description: 'Data of one thing.',
    mimeType: 'application/json',
    scope: SCOPE,
  },
];

/** Undefined for a URI that is nothing here. */
export function read(uri: unknown): Json | undefined {
  if (typeof uri !== 'string') return undefined;
  const [, id] = /^test:\/\/template\/([^/]+)\/data$/.exec(uri) ?? [];
  if (id !== undefined) {
    const data = { id: decodeURIComponent(id), templateTest: true, data: `Data for ID: ${decodeURIComponent(id)}` };
    return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(data) }] };
  }
  if (!Object.hasOwn(resources, uri)) return undefined;
  const { mimeType, content } = resources[uri]!;
  return { contents: [{ uri, mimeType, ...content }] };
}
