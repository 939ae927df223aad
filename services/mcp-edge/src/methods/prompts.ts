import { isObject } from '@cortex/contracts/is-object';
import { toldBlock, isBlock } from '../federation/results.js';
import type { FederatedPrompt } from '../federation/types.js';
import { badParams } from './faults.js';
import type { Json } from './types.js';

/** The arguments of `prompts/get`: texts by name, all that the prompt must have among them. */
export function argumentsOf(prompt: FederatedPrompt, given: unknown): Json {
  if (given !== undefined && !isObject(given)) throw badParams('params.arguments must be an object');
  const args = given ?? {};
  for (const [name, value] of Object.entries(args))
    if (typeof value !== 'string') throw badParams(`params.arguments.${name.slice(0, 128)} must be a string`);
  const declared = (prompt.value['arguments'] ?? []) as { name: string; required?: unknown }[];
  const missing = declared.filter(({ name, required }) => required === true && !Object.hasOwn(args, name));
  if (missing.length > 0)
    throw badParams(`params.arguments lacks ${missing.map(({ name }) => name).join(', ')}; the prompt requires it`);
  return args;
}

/** Why a value is no result of `prompts/get`; undefined when it is one. */
export function promptFault(value: unknown): string | undefined {
  if (!isObject(value)) return 'its prompt is no object';
  const { messages, description, _meta: meta } = value;
  if (!Array.isArray(messages)) return 'its prompt has no messages';
  if (description !== undefined && typeof description !== 'string') return 'the description of its prompt is no text';
  if (meta !== undefined && !isObject(meta)) return '_meta of its prompt is no object';
  const good = messages.every(
    (message) =>
      isObject(message) &&
      (message['role'] === 'user' || message['role'] === 'assistant') &&
      isBlock(message['content']),
  );
  return good ? undefined : 'its prompt holds what is no message';
}

/** The messages as this caller may be told them. */
export const toldMessages = (value: Json, told: (text: string) => string): Json[] =>
  (value['messages'] as { content: Record<string, unknown> }[]).map((message) => ({
    ...message,
    content: toldBlock(message.content, told),
  }));
