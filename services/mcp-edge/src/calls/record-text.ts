import { escapeHidden } from '@cortex/service-kit/log';
import { type Outcome, subjects, type WireError } from '@cortex/contracts';
import type { EdgeTool } from '../catalog/edge-tool.js';
import { partsOfList } from '../catalog/list-bytes.js';
import type { CallerContext, HttpExchange, RequestNote } from '../seams.js';
import type { CallContext } from './call-context.js';
import { callId, isoNow } from './ids.js';
import { keyedHash } from './keyed-hash.js';

const SELF = 'mcp-edge';
/** Calls of tools that do not exist share one subject: their names come from outside. The record holds the name. */
const UNKNOWN_TOOL = '_unknown';
const MAX_NAME = 256;

/** Who asked; an operator and a timer ask without a caller's token. */
export type RecordedCaller = Pick<
  CallerContext,
  'sub' | 'client_id' | 'session' | 'role' | 'pool' | 'email' | 'dev_bypass'
>;

/** Who asked and when. */
export interface RecordedRequest extends Pick<HttpExchange, 'started' | 'request_id' | 'headers'> {
  readonly caller: RecordedCaller;
}

/** How a call ended, for its record. */
export interface Ending {
  outcome: Outcome;
  error?: Pick<WireError, 'kind' | 'reason'>;
  gate?: string;
  error_code?: string;
  result_bytes: number;
}

/** Parts of a record that are the same for every call of a caller. */
interface CallerPart {
  begin: string;
  end: string;
}

/**
 * The text of a call's records, put together of parts that are written once: the caller's, the tool's, the call's. An object of thirty fields
 * per record would cost more than everything else that the edge does with a call.
 */
export class RecordText {
  /** First 16 hex digits of HMAC-SHA-256. */
  readonly hash: (text: string) => string;
  readonly #callers = new WeakMap<RecordedCaller, CallerPart>();
  readonly #tools = new WeakMap<EdgeTool, { begin: string; end: string; subject: string }>();

  constructor(
    auditHashKey: string,
    private readonly replica: string,
    private readonly catalogVersion: () => number,
  ) {
    this.hash = keyedHash(auditHashKey);
  }

  /** Subject of a call's records, and the fields that both share as the inside of a JSON object. */
  shared(ctx: CallContext): { fields: string; subject: string } {
    const { input, args_json, workspace } = ctx;
    const tool = this.#tool(ctx);
    const hash = input.args === undefined ? 'null' : `"${this.hash(args_json)}"`;
    const where = workspace === null ? '' : `,"workspace":${JSON.stringify(workspace)}`;
    const fields = `"call_id":"${ctx.call_id}",${tool.begin},${this.#caller(input.caller).begin}${where},"params_hash":${hash},"args_bytes":${args_json.length},"transport":"${input.transport}","era":"${input.era}","trace_id":"${ctx.trace_id}","deadline_ms":${ctx.tool?.announced.deadline_ms ?? 0}`;
    return { fields, subject: tool.subject };
  }

  started = (ctx: CallContext, fields: string): string => `{"type":"ToolCallStarted","at":"${ctx.at}",${fields}}`;

  finished(ctx: CallContext, fields: string, ending: Ending): string {
    const { caller, revision, origin, mcp_session_id, request_id } = ctx.input;
    const always = `"finished_at":"${isoNow()}","outcome":"${ending.outcome}","classes":${ctx.classes.length === 0 ? '[]' : JSON.stringify(ctx.classes)},"duration_ms":${sinceThen(ctx.started)},"result_bytes":${ending.result_bytes},"protocol_version":"${revision}","replica":"${this.replica}","catalog_version":${this.catalogVersion()}`;
    const sometimes =
      member('error_kind', ending.error?.kind) +
      member('reason', ending.error?.reason) +
      member('gate', ending.gate) +
      member('error_code', ending.error_code) +
      member('mode', ctx.mode) +
      member('decision', ctx.decision) +
      member('source', ctx.source) +
      member('approved_by', ctx.approved_by) +
      member('remembered_rule', ctx.remembered_rule) +
      member('origin', origin) +
      member('mcp_session_id', mcp_session_id) +
      member('request_id', request_id);
    return `{"type":"ToolCallFinished","at":"${ctx.at}",${fields},${always}${this.#tool(ctx).end}${this.#caller(caller).end}${sometimes}}`;
  }

  /** Of a request that is no tool call. */
  request({ caller, headers, started, request_id }: RecordedRequest, note: RequestNote): string {
    const { method, era, outcome, transport = 'http', result_bytes, params } = note;
    const part = this.#caller(caller);
    const sometimes =
      member('error_code', note.error_code) +
      member('error_kind', note.error?.kind) +
      member('reason', note.error?.reason) +
      member('gate', note.gate) +
      member('target_app', note.target_app) +
      member('scope_used', note.scope_used) +
      member('protocol_version', note.protocol_version) +
      member('mcp_session_id', note.mcp_session_id) +
      member('origin', headers.origin) +
      member('trace_id', note.trace_id);
    return `{"type":"RequestRecorded","call_id":"${callId()}","at":"${isoNow()}","method":${json(method.slice(0, MAX_NAME))},${part.begin},"params_hash":${this.#paramsHash(params)},"outcome":"${outcome}","duration_ms":${sinceThen(started)},"result_bytes":${result_bytes},"transport":"${transport}","era":"${era}","request_id":"${request_id}","replica":"${this.replica}","catalog_version":${this.catalogVersion()}${part.end}${listPart(note.listed)}${sometimes}}`;
  }

  /** What a client says of itself and of its trace is none of what it asks for. */
  #paramsHash(params: unknown): string {
    if (typeof params !== 'object' || params === null) return 'null';
    const { _meta, ...asked } = params as { _meta?: unknown };
    for (const _ in asked) return `"${this.hash(JSON.stringify(asked))}"`;
    return 'null';
  }

  #tool({ tool, input }: CallContext): { begin: string; end: string; subject: string } {
    if (tool === undefined) {
      const begin = inside({ tool: input.name.slice(0, MAX_NAME), service: SELF, target_app: null });
      return { begin, end: '', subject: subjects.call(SELF, UNKNOWN_TOOL) };
    }
    let part = this.#tools.get(tool);
    if (part === undefined) {
      const { name, service, block, required_scopes, federated } = tool;
      const target_app = block === 'builtin' ? 'gateway' : (federated?.backend.id ?? service);
      part = {
        begin: inside({ tool: name, service, target_app }),
        end:
          member('scope_used', required_scopes.join(' ') || undefined) +
          member('tool_original', federated?.original) +
          member('token_mode', federated?.backend.tokenMode),
        subject: subjects.call(service, name),
      };
      this.#tools.set(tool, part);
    }
    return part;
  }

  #caller(caller: RecordedCaller): CallerPart {
    let part = this.#callers.get(caller);
    if (part === undefined) {
      const { sub, client_id, session, role, pool, email, dev_bypass } = caller;
      part = {
        begin: inside({ caller_sub: sub, client_id, session_id: session?.sid }),
        end:
          member('caller_role', role || undefined) +
          member('caller_pool', pool || undefined) +
          member('caller_email_hash', email === '' ? 'anon' : this.hash(email.toLowerCase())) +
          (dev_bypass ? ',"dev_bypass":true' : ''),
      };
      this.#callers.set(caller, part);
    }
    return part;
  }
}

/** A list's size in tokens is estimated as a quarter of its characters: what search mode and the filter of backends save is seen by it. */
function listPart(listed: RequestNote['listed']): string {
  const parts = listed && partsOfList(listed.list);
  if (listed === undefined || parts === undefined) return '';
  const { backends, search } = listed.options;
  return `,"tools_listed":${parts.tools.length},"tokens_estimate":${Math.ceil(parts.characters / 4)}${member('backends_filter', backends?.join(','))}${member('tool_mode', search ? 'search' : undefined)}`;
}

/** Milliseconds, to the microsecond. */
const sinceThen = (started: number): number => Math.round((performance.now() - started) * 1000) / 1000;

/** The line on standard output that says what a record says: the same members, behind what makes it a line of the trail. */
export function auditLine(record: string, outcome: Outcome, method?: string): string {
  const named = method === undefined ? '' : `"method":"${method}",`;
  return `{"_type":"cortex_audit",${named}"success":${outcome === 'succeeded'},${record.slice(1)}`;
}

/** Each text from outside passes one of these, so that a record steers no terminal that shows it (threat T88). */
export const json = (value: unknown): string => escapeHidden(JSON.stringify(value));
const inside = (fields: object): string => json(fields).slice(1, -1);
const member = (name: string, value: string | undefined): string =>
  value === undefined ? '' : `,"${name}":${json(value)}`;
