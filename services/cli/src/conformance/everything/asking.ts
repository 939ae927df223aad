import {
  answersOf,
  asks,
  type Call,
  field,
  type FixtureTool,
  form,
  type Json,
  roots,
  rootsOf,
  said,
  sample,
  sampled,
} from './call.js';

const one = (name: string): Json => ({
  type: 'object',
  properties: { [name]: { type: 'string' } },
  required: [name],
});
const name = { name: { type: 'string' } };
const confirm = { confirm: form('Shall it go on?', { ok: { type: 'boolean' } }) };

/** Asks one thing under one key, and goes on with the answer. */
const askOnce =
  (key: string, question: (call: Call) => Json, then: (answer: Json) => Json | undefined) =>
  (call: Call): Json => {
    const answer = answersOf(call)[key];
    const result = answer && then(answer);
    return result ?? asks({ [key]: question(call) });
  };

const told = (answer: Json): Json =>
  said(`Elicitation completed: action=${String(answer['action'])}, content=${JSON.stringify(answer['content'] ?? {})}`);

const withState = (state: string) => (call: Call) => {
  const { ok } = { ok: field(answersOf(call)['confirm'], 'ok') };
  if (ok === undefined || call.context['requestState'] !== state) return asks(confirm, state);
  return said('state-ok');
};

/** Titles of a choice. */
const titled = (...values: string[]): Json[] => values.map((value) => ({ const: value, title: `Title of ${value}` }));

/** Tools that ask the client for something before they answer. */
export const askingTools: Record<string, FixtureTool> = {
  test_sampling: {
    description: 'Lets the model of the client answer a prompt.',
    inputSchema: one('prompt'),
    run: askOnce(
      'answer',
      ({ params }) => sample(String(params['prompt']), 100),
      (answer) => said(`LLM response: ${sampled(answer) ?? ''}`),
    ),
  },
  test_missing_capability: {
    description: 'Needs a client that samples.',
    run: askOnce(
      'answer',
      () => sample('Say something.', 100),
      (answer) => said(sampled(answer) ?? ''),
    ),
  },
  test_elicitation: {
    description: 'Asks the person for a name and an address.',
    inputSchema: one('message'),
    run: askOnce(
      'user',
      ({ params }) => form(String(params['message']), { username: { type: 'string' }, email: { type: 'string' } }),
      (answer) =>
        said(`User response: action=${String(answer['action'])}, content=${JSON.stringify(answer['content'])}`),
    ),
  },
  test_elicitation_sep1034_defaults: {
    description: 'Asks with a default for each kind of field.',
    run: askOnce(
      'defaults',
      () =>
        form('Look at the defaults', {
          name: { type: 'string', default: 'John Doe' },
          age: { type: 'integer', default: 30 },
          score: { type: 'number', default: 95.5 },
          status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
          verified: { type: 'boolean', default: true },
        }),
      told,
    ),
  },
  test_elicitation_sep1330_enums: {
    description: 'Asks with each kind of choice.',
    run: askOnce(
      'choices',
      () =>
        form('Choose', {
          untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
          titledSingle: { type: 'string', oneOf: titled('value1', 'value2', 'value3') },
          legacyEnum: {
            type: 'string',
            enum: ['opt1', 'opt2', 'opt3'],
            enumNames: ['Option One', 'Option Two', 'Option Three'],
          },
          untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
          titledMulti: { type: 'array', items: { anyOf: titled('value1', 'value2', 'value3') } },
        }),
      told,
    ),
  },
  test_input_required_result_elicitation: {
    description: 'Asks for a name and greets.',
    run: askOnce(
      'user_name',
      () => form('What is your name?', name),
      (answer) => {
        const given = field(answer, 'name');
        return typeof given === 'string' ? said(`Hello, ${given}!`) : undefined;
      },
    ),
  },
  test_input_required_result_sampling: {
    description: 'Asks the model of the client.',
    run: askOnce(
      'capital_question',
      () => sample('What is the capital of France?', 100),
      (answer) => {
        const given = sampled(answer);
        return given === undefined ? undefined : said(`The model says: ${given}`);
      },
    ),
  },
  test_input_required_result_list_roots: {
    description: 'Asks for the roots of the client.',
    run: askOnce(
      'client_roots',
      () => roots,
      (answer) => {
        const given = rootsOf(answer);
        return given && said(`Roots: ${given.map(({ uri }) => String(uri)).join(', ')}`);
      },
    ),
  },
  test_input_required_result_request_state: {
    description: 'Asks, and knows its own state again.',
    run: withState('waiting-for-confirmation'),
  },
  test_input_required_result_tampered_state: {
    description: 'Asks, and goes on with its own state alone.',
    run: withState('untampered'),
  },
  test_input_required_result_multiple_inputs: {
    description: 'Asks for three things at once.',
    run(call) {
      const { user_name, greeting, client_roots } = answersOf(call);
      const [who, how, where] = [field(user_name, 'name'), sampled(greeting), rootsOf(client_roots)];
      if (typeof who === 'string' && how !== undefined && where !== undefined)
        return said(`${how}, ${who}: ${where.length} roots`);
      return asks(
        {
          user_name: form('What is your name?', name),
          greeting: sample('Write a greeting.', 50),
          client_roots: roots,
        },
        'three-things',
      );
    },
  },
  test_input_required_result_multi_round: {
    description: 'Asks twice, one after the other.',
    run(call) {
      const { step1, step2 } = answersOf(call);
      const state = call.context['requestState'];
      const color = field(step2, 'color');
      if (typeof state === 'string' && state.startsWith('name:') && typeof color === 'string')
        return said(`${state.slice('name:'.length)} likes ${color}`);
      const given = field(step1, 'name');
      if (state === 'begun' && typeof given === 'string')
        return asks({ step2: form('Which colour?', { color: { type: 'string' } }) }, `name:${given}`);
      return asks({ step1: form('What is your name?', name) }, 'begun');
    },
  },
  test_input_required_result_capabilities: {
    description: 'Asks only for what the client can give.',
    run(call) {
      const able = (call.context['clientCapabilities'] ?? {}) as Json;
      const given = answersOf(call);
      const questions: Record<string, Json> = {
        ...(able['elicitation'] !== undefined && { user_name: form('What is your name?', name) }),
        ...(able['sampling'] !== undefined && { greeting: sample('Write a greeting.', 50) }),
        ...(able['roots'] !== undefined && { client_roots: roots }),
      };
      const open = Object.entries(questions).filter(([key]) => given[key] === undefined);
      return open.length === 0 ? said('Everything was answered') : asks(Object.fromEntries(open));
    },
  },
};
