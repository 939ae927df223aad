import { type Outcome, subjects, type WireError } from '@cortex/contracts';
import type { EdgeTool } from '../catalog/edge-tool.js';
import type { CallerContext } from '../seams.js';
import type { CallContext } from './call-context.js';
import { isoNow } from './ids.js';
import { keyedHash } from './keyed-hash.js';

const SELF = 'mcp-edge';
/** Calls of tools that do not exist share one subject: their names come from outside. The record holds the name. */
const UNKNOWN_TOOL = '_unknown';
const MAX_NAME = 256;

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
  readonly #callers = new WeakMap<CallerContext, CallerPart>();
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
    const duration = Math.round((performance.now() - ctx.started) * 1000) / 1000;
    const always = `"finished_at":"${isoNow()}","outcome":"${ending.outcome}","classes":${ctx.classes.length === 0 ? '[]' : JSON.stringify(ctx.classes)},"duration_ms":${duration},"result_bytes":${ending.result_bytes},"protocol_version":"${revision}","replica":"${this.replica}","catalog_version":${this.catalogVersion()}`;
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

  #caller(caller: CallerContext): CallerPart {
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

const inside = (fields: object): string => JSON.stringify(fields).slice(1, -1);
const member = (name: string, value: string | undefined): string =>
  value === undefined ? '' : `,"${name}":${JSON.stringify(value)}`;
