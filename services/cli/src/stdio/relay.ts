import { isObject } from '@cortex/contracts/is-object';
import { createParser } from 'eventsource-parser';
import { CliError } from '../exit.js';
import type { Flight } from './flights.js';
import { isUnnamedError, named, type Json } from './message.js';
import type { Answer } from './upstream.js';

/** Where a stream of events stands, so that another request can go on with it. */
export interface Place {
  after?: string;
  /** How long the server wants us to wait before we do. */
  retryMs?: number;
}

/** Who is told what of an answer. */
export interface Relayed {
  /** Writes one message to the client. */
  write: (json: string) => void;
  /** Told of the result of the request before the client reads it. */
  onResult?: (result: Json) => void;
}

/** The JSON-RPC messages of an answer as they come: its body, or the events of its stream. */
export async function* messagesIn(answer: Answer, place: Place = {}): AsyncGenerator<string> {
  if (!isEventStream(answer)) {
    const body = await wholeOf(answer);
    if (body.trim() !== '') yield body;
    return;
  }
  const ready: string[] = [];
  const parser = createParser({
    onEvent({ id, data }) {
      if (id !== undefined) place.after = id;
      if (data !== '') ready.push(data);
    },
    onRetry: (ms) => (place.retryMs = ms),
  });
  for await (const part of answer.body) {
    parser.feed(part);
    yield* ready.splice(0);
  }
}

/** The whole body; only where it is known to be short, or to be one message. */
export async function wholeOf({ body }: Answer): Promise<string> {
  const parts: string[] = [];
  for await (const part of body) parts.push(part);
  return parts.join('');
}

const isEventStream = ({ headers }: Answer): boolean =>
  headers['content-type']?.toLowerCase().startsWith('text/event-stream') === true;

/**
 * Copies an answer to the client, and settles the request when its own answer is among it. Throws where something else came than JSON-RPC,
 * or the connection was lost.
 */
export async function relay(
  answer: Answer,
  flight: Flight,
  { write, onResult }: Relayed,
  place?: Place,
): Promise<void> {
  for await (const text of messagesIn(answer, place)) {
    const message = parse(text);
    if (!isObject(message)) throw refusal(answer, text);
    if (message['method'] !== undefined) {
      if (!flight.settled) write(text);
      continue;
    }
    const own = ownAnswer(flight, message, text);
    if (own === undefined) throw refusal(answer, text);
    if (flight.settled) continue;
    flight.settled = true;
    if (isObject(message['result'])) onResult?.(message['result']);
    write(own);
  }
  if (!flight.settled && answer.status >= 300) throw refusal(answer, '');
}

function ownAnswer({ id }: Flight, message: Json, text: string): string | undefined {
  if (isUnnamedError(message)) return named(message, id);
  const answers = 'result' in message || isObject(message['error']);
  return answers && message['id'] === id ? text : undefined;
}

/** Undefined for what is no JSON. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What an answer says that is none of the protocol: one of OAuth, of a proxy, of some other server. */
export function refusal({ status, headers }: Answer, body: string): CliError {
  const said = parse(body);
  const { error, error_description } = isObject(said) ? said : {};
  const why = [error_description, error].find((text) => typeof text === 'string');
  if (why !== undefined)
    return new CliError(`the gateway refuses: ${why} (HTTP ${status})${later(headers['retry-after'])}`);
  if (status >= 300 && status < 400)
    return new CliError(`the gateway is not at this address (HTTP ${status} to another one, which is not followed)`);
  const shown = body.trim() === '' ? 'nothing' : JSON.stringify(body.trim().slice(0, 200));
  return new CliError(
    `the gateway answered HTTP ${status} with what is no JSON-RPC: ${shown}${later(headers['retry-after'])}`,
  );
}

const later = (seconds: string | undefined): string => (seconds === undefined ? '' : `; try again in ${seconds} s`);
