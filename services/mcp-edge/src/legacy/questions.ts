import { randomUUID } from 'node:crypto';
import { isObject } from '@cortex/contracts/is-object';
import type { LegacyRevision } from '../seams.js';
import type { Json } from './message.js';

/** What a client answered: a result, or why there is none. */
export type ClientAnswer = { result: Json } | { problem: string };

interface Waiting {
  settle: (answer: ClientAnswer) => void;
  clock: NodeJS.Timeout;
}

/** Requests to clients that have no answer yet, by session and id. Source: gateway, section 5.3. */
export class Questions {
  readonly #waiting = new Map<string, Waiting>();

  constructor(private readonly timeoutMs: number) {}

  /** Sends one request and waits for its answer; never rejects. */
  ask(session: string, send: (message: string) => void, method: string, params: Json): Promise<ClientAnswer> {
    const id = randomUUID();
    const key = keyOf(session, id);
    return new Promise((resolve) => {
      const settle = (answer: ClientAnswer): void => {
        clearTimeout(clock);
        this.#waiting.delete(key);
        resolve(answer);
      };
      const late = { problem: `gave no answer within ${Math.round(this.timeoutMs / 1000)} s` };
      const clock = setTimeout(() => settle(late), this.timeoutMs).unref();
      this.#waiting.set(key, { settle, clock });
      send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    });
  }

  /** A response that a client posted; one to nothing that was asked is ignored. */
  answered(session: string, { id, result, error }: Json): void {
    if (typeof id !== 'string') return;
    const message = isObject(error) && typeof error['message'] === 'string' ? error['message'] : 'no reason given';
    const answer = isObject(result) ? { result } : { problem: `refused: ${message.slice(0, 512)}` };
    this.#waiting.get(keyOf(session, id))?.settle(answer);
  }
}

const keyOf = (session: string, id: string): string => `${session}\n${id}`;

/** What of its capabilities a client of this revision can have meant. */
export function capabilitiesIn(revision: LegacyRevision, declared: Json): Json {
  const { sampling, roots, elicitation } = declared;
  const newest = revision === '2025-11-25';
  const elicits = newest || revision === '2025-06-18';
  return {
    ...(isObject(roots) && { roots }),
    ...(isObject(sampling) && { sampling: newest ? sampling : {} }),
    ...(isObject(elicitation) && elicits && { elicitation: newest ? elicitation : {} }),
  };
}

/** The parameters of a question in the words of a revision; undefined where it has none for it. */
export function paramsIn(revision: LegacyRevision, method: string, params: Json): Json | undefined {
  if (method !== 'elicitation/create') return params;
  if (revision === '2025-11-25') return params['mode'] === 'url' ? { ...params, elicitationId: randomUUID() } : params;
  const { mode: _mode, requestedSchema, ...rest } = params;
  const properties = isObject(requestedSchema) ? requestedSchema['properties'] : undefined;
  if (!isObject(requestedSchema) || !isObject(properties)) return { ...rest, requestedSchema };
  const fields: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(properties)) {
    if (isObject(field) && field['type'] === 'array') return undefined;
    fields[name] = isObject(field) ? choiceOf(field) : field;
  }
  return { ...rest, requestedSchema: { ...requestedSchema, properties: fields } };
}

/** Titled choices as `enum` with `enumNames`. */
function choiceOf(field: Json): Json {
  const { oneOf, ...rest } = field;
  if (!Array.isArray(oneOf) || !oneOf.every(isObject)) return field;
  return { ...rest, enum: oneOf.map((one) => one['const']), enumNames: oneOf.map((one) => one['title']) };
}
