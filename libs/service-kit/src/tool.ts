import type { ActionClass, AnnouncedTool, Tier, WorkspaceRule } from '@cortex/contracts';
import { WorkspaceId } from '@cortex/contracts';
import { z } from 'zod';
import { argumentsOf, type Arguments } from './arguments.js';
import type { ToolContext } from './context.js';

/** What `handle` gives back when the plain output is not all there is to say. */
export class ToolResult<T> {
  constructor(
    readonly data: T,
    readonly options: ResultOptions,
  ) {}
}

export interface ResultOptions {
  /** MCP content blocks instead of the one text block with the output's JSON. */
  content?: readonly ContentBlock[];
  /** The result says `isError` though it is whole: a command that ended with another code than 0. */
  isError?: boolean;
  /** Entries that the edge adds to the `_meta` of its answer. */
  meta?: Record<string, unknown>;
}

export type ContentBlock =
  | { type: 'text'; text: string }
  | { type: 'image' | 'audio'; data: string; mimeType: string }
  | { type: 'resource'; resource: { uri: string; mimeType?: string; text?: string; blob?: string } };

export const result = <T>(data: T, options: ResultOptions): ToolResult<T> => new ToolResult(data, options);

/** Made by `ctx.wait`: the call answers later, when an event says so (architecture, section 11.3). */
export class Waiting {
  constructor(readonly wait: { subject: string; after: number; until: string; poll_ms?: number }) {}
}

export type Answer<T> = T | ToolResult<T> | Waiting;

/** What a person is shown who is asked whether a call may run. */
export interface ApprovalPayload {
  title: string;
  detail: string;
  is_destructive?: boolean;
  preview?: unknown;
}

export interface ToolSpec<I extends z.ZodObject, O extends z.ZodObject> {
  /** `context_verb`, 1 to 64 of `A-Z a-z 0-9 _ -`. */
  name: string;
  title: string;
  /** When to use it, what to call before it, what is safe to repeat. */
  description: string;
  /** Does it change recorded state? */
  tier: Tier;
  /** Classes of the guard rail; a tool that has none writes `[]`. MCP hints derive from tier and classes. */
  actions: readonly ActionClass[];
  /** Adds `workspace_id` to the arguments; the handler finds it in `ctx.workspace`. */
  workspace: WorkspaceRule;
  /** Needs an agent session. */
  session?: boolean;
  /** Capability group of an agent-server tool. */
  group?: string;
  /** Scopes beside the tier's; all are needed. */
  scopes?: readonly string[];
  /** Built-ins need no scope. */
  builtin?: boolean;
  /** Default 30,000. */
  deadlineMs?: number;
  /** Its presence is the flag that the tool asks first; it runs when somebody is to be asked. */
  approval?(args: z.output<I>, ctx: ToolContext): ApprovalPayload | Promise<ApprovalPayload>;
  /** Its result came from outside. */
  untrusted?: boolean;
  input: I;
  output: O;
  /** Builds a command or a query, no more: rules live in the decider. */
  handle(args: z.output<I>, ctx: ToolContext): Answer<z.input<O>> | Promise<Answer<z.input<O>>>;
}

export interface Tool<I extends z.ZodObject = z.ZodObject, O extends z.ZodObject = z.ZodObject> extends ToolSpec<I, O> {
  readonly arguments: Arguments;
  /** As the service tells it to the edge. */
  readonly announced: AnnouncedTool;
}

const DEFAULT_DEADLINE_MS = 30_000;

/** One tool, one file. Wrong names, missing descriptions and the like fail when the file is loaded. */
export function defineTool<I extends z.ZodObject, O extends z.ZodObject>(spec: ToolSpec<I, O>): Tool<I, O> {
  const named = withWorkspace(spec.input, spec.workspace);
  const announced: AnnouncedTool = {
    name: spec.name,
    title: spec.title,
    description: spec.description,
    tier: spec.tier,
    actions: [...spec.actions],
    workspace: spec.workspace,
    session: spec.session ?? false,
    approval: spec.approval !== undefined,
    ...(spec.group !== undefined && { group: spec.group }),
    scopes: [...(spec.scopes ?? [])],
    builtin: spec.builtin ?? false,
    untrusted: spec.untrusted ?? false,
    deadline_ms: spec.deadlineMs ?? DEFAULT_DEADLINE_MS,
    input_schema: z.toJSONSchema(named.strict(), { io: 'input' }) as Record<string, unknown>,
    output_schema: z.toJSONSchema(spec.output, { io: 'output' }) as Record<string, unknown>,
  };
  return { ...spec, arguments: argumentsOf(spec.input, spec.workspace), announced };
}

/** `workspace_id` comes first, since it is what a model is to fill in first. */
function withWorkspace(input: z.ZodObject, rule: WorkspaceRule): z.ZodObject {
  if (rule === 'none' || 'workspace_id' in input.shape) return input;
  const workspace_id = rule === 'required' ? WorkspaceId : WorkspaceId.optional();
  return z.object({ workspace_id, ...input.shape });
}
