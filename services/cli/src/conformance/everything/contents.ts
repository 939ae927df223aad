import { setTimeout as sleep } from 'node:timers/promises';
import { type FixtureTool, type Json, PNG, said, text, WAV } from './call.js';

const STEP_MS = 50;
const picture: Json = { type: 'image', data: PNG, mimeType: 'image/png' };
const properties = (fields: Json, required: string[] = []): Json => ({
  type: 'object',
  properties: fields,
  ...(required.length > 0 && { required }),
});

/** Every keyword of it has to reach the client. */
const SCHEMA_2020_12: Json = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
};

/** Tools that answer at once, with each kind of content, and those that tell something while they work. */
export const contentTools: Record<string, FixtureTool> = {
  test_simple_text: {
    description: 'Answers with a text.',
    run: () => said('This is a simple text response for testing.'),
  },
  test_image_content: { description: 'Answers with a picture.', run: () => ({ content: [picture] }) },
  test_audio_content: {
    description: 'Answers with a sound.',
    run: () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] }),
  },
  test_embedded_resource: {
    description: 'Answers with a resource.',
    run: () => ({
      content: [
        {
          type: 'resource',
          resource: {
            uri: 'test://embedded-resource',
            mimeType: 'text/plain',
            text: 'This is an embedded resource content.',
          },
        },
      ],
    }),
  },
  test_multiple_content_types: {
    description: 'Answers with a text, a picture and a resource.',
    run: () => ({
      content: [
        text('Multiple content types test:'),
        picture,
        {
          type: 'resource',
          resource: {
            uri: 'test://mixed-content-resource',
            mimeType: 'application/json',
            text: '{"test":"data","value":123}',
          },
        },
      ],
    }),
  },
  test_tool_with_logging: {
    description: 'Logs three lines while it works.',
    streamed: true,
    async run({ tell }) {
      for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        tell({ type: 'log', level: 'info', data });
        await sleep(STEP_MS);
      }
      return said('Tool with logging executed successfully');
    },
  },
  test_logging_tool: {
    description: 'Logs one line while it works.',
    streamed: true,
    run({ tell }) {
      tell({ type: 'log', level: 'info', data: 'One line' });
      return said('Logged one line');
    },
  },
  test_tool_with_progress: {
    description: 'Tells how far it is.',
    streamed: true,
    async run({ tell }) {
      for (const progress of [0, 50, 100]) {
        tell({ type: 'progress', progress, total: 100 });
        await sleep(STEP_MS);
      }
      return said('Tool with progress executed successfully');
    },
  },
  test_reconnection: {
    description: 'Asks for its stream to be closed, and answers after that.',
    streamed: true,
    async run({ tell }) {
      tell({ type: 'close_stream' });
      await sleep(2 * STEP_MS);
      return said('Reconnection test completed successfully');
    },
  },
  test_streaming_elicitation: {
    description: 'Answers in a stream.',
    streamed: true,
    run: () => said('Nothing was asked'),
  },
  test_error_handling: {
    description: 'Fails.',
    run: () => ({ ...said('This tool intentionally returns an error for testing'), isError: true }),
  },
  test_x_mcp_header: {
    description: 'Says which region it was given.',
    inputSchema: properties({ region: { type: 'string', 'x-mcp-header': 'Region' }, level: { type: 'integer' } }),
    run: ({ params }) => said(`Region: ${String(params['region'])}`),
  },
  greet: {
    description: 'Greets somebody.',
    inputSchema: properties({ name: { type: 'string' } }, ['name']),
    run: ({ params }) => said(`Hello, ${String(params['name'])}!`),
  },
  json_schema_2020_12_tool: {
    description: 'Has a schema with keywords of JSON Schema 2020-12.',
    inputSchema: SCHEMA_2020_12,
    run: ({ params }) => said(JSON.stringify(params)),
  },
};
