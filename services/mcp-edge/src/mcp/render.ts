import { membersOf } from '../federation/json-text.js';
import { type CallOutcome, MODERN, type Revision } from '../seams.js';
import { META } from './envelope.js';

type ResultOutcome = Extract<CallOutcome, { kind: 'result' }>;
type Block = Record<string, unknown>;

/** Revisions that know `structuredContent` and `resource_link`; 2024-11-05 does not know `audio` either. */
const KNOWS_STRUCTURE = new Set<Revision>([MODERN, '2025-11-25', '2025-06-18']);

/** What stands behind the members of a result, up to the closing brace; the bytes of the service are never touched. */
export function resultTail(outcome: ResultOutcome, revision: Revision, serverInfo: string): string {
  const error = outcome.is_error ? ',"isError":true' : '';
  const own = outcome.meta === undefined ? '' : JSON.stringify(outcome.meta).slice(1, -1);
  if (revision !== MODERN) return own === '' ? `${error}}` : `${error},"_meta":{${own}}}`;
  return `${error},"resultType":"${outcome.result_type ?? 'complete'}","_meta":{"${META.serverInfo}":${serverInfo}${own === '' ? '' : `,${own}`}}}`;
}

/** The `result` object in the words of a revision. Source: gateway, section 5.7. */
export function renderResult(outcome: ResultOutcome, revision: Revision, serverInfo: string): Buffer {
  const tail = resultTail(outcome, revision, serverInfo);
  const members = KNOWS_STRUCTURE.has(revision) ? structured(outcome, revision) : downgraded(outcome.members, revision);
  const bytes = typeof members === 'string' ? Buffer.from(members) : members;
  return Buffer.concat([Buffer.from('{'), bytes, Buffer.from(tail)]);
}

/** Before today's revision a structured result is an object: any other becomes its member `result`. */
function structured({ members, wraps }: ResultOutcome, revision: Revision): Uint8Array | string {
  if (revision === MODERN || wraps === undefined) return members;
  const text = typeof members === 'string' ? members : Buffer.from(members).toString('utf8');
  const parts = membersOf(`{${text}}`);
  const value = parts.get('structuredContent');
  if (value === undefined || (!wraps && value.startsWith('{'))) return members;
  parts.set('structuredContent', `{"result":${value}}`);
  return [...parts].map(([key, json]) => `${JSON.stringify(key)}:${json}`).join(',');
}

/** Puts a result into the words of a client that knows neither structured content nor links. */
function downgraded(members: Uint8Array | string, revision: Revision): string {
  const text = typeof members === 'string' ? members : Buffer.from(members).toString('utf8');
  const { content } = JSON.parse(`{${text}}`) as { content: Block[] };
  return `"content":${JSON.stringify(content.map((block) => downgradedBlock(block, revision)))}`;
}

function downgradedBlock(block: Block, revision: Revision): Block {
  if (block['type'] === 'resource_link')
    return { type: 'text', text: [block['name'], block['uri']].filter((part) => typeof part === 'string').join(' ') };
  if (block['type'] === 'audio' && revision === '2024-11-05')
    return { type: 'resource', resource: { uri: 'cortex://audio', mimeType: block['mimeType'], blob: block['data'] } };
  return block;
}
