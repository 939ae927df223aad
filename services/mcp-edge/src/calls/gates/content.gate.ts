import { HttpRefusal } from '../../seams.js';
import type { DoorWorld, Visit } from '../gates.js';

const refusal = (status: number, message: string): HttpRefusal =>
  new HttpRefusal(status, JSON.stringify({ jsonrpc: '2.0', error: { code: status, message } }));

const NOT_JSON = refusal(415, 'Content-Type must be application/json');
const NOT_ACCEPTABLE = refusal(406, 'Accept must list application/json or text/event-stream');

/** What a message may be sent as, and what the client must be able to read. Only POST brings a body. */
export function contentGate({ req }: Visit, _world: DoorWorld): HttpRefusal | undefined {
  if (req.method !== 'POST') return undefined;
  const { 'content-type': type = '', accept } = req.headers;
  if (type !== 'application/json' && type.split(';', 1)[0]?.trim().toLowerCase() !== 'application/json')
    return NOT_JSON;
  // Without the header, or with anything that takes JSON, a bare curl must work.
  if (accept === undefined || accept === '' || /\*\/\*|application\/(?:json|\*)|text\/event-stream/i.test(accept))
    return undefined;
  return NOT_ACCEPTABLE;
}
