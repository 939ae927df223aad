import { assertToken, NO_WORKSPACE, toolToken } from './ids.js';

/** Streams and buckets. Only provisioning makes or changes them (architecture, section 9). */
export const EVENTS_STREAM = 'CORTEX_EVENTS';
export const CALLS_STREAM = 'CORTEX_CALLS';
export const SSE_STREAM = 'CORTEX_SSE';

export const subjects = {
  tool: (service: string, tool: string) => `cortex.tool.${service}.${toolToken(tool)}`,
  query: (service: string, name: string) => `cortex.query.${service}.${name}`,
  command: (service: string, name: string) => `cortex.cmd.${service}.${name}`,
  node: (service: string, instance: string, name: string) => `cortex.node.${service}.${instance}.${name}`,
  live: (service: string, topic: string) => `cortex.live.${service}.${topic}`,
  call: (service: string, tool: string) => `cortex.call.${service}.${toolToken(tool)}`,
  /** `aggregate` is `<context>.<aggregate>` as deciders name it. */
  event: (aggregate: string, workspace: string | null, id: string) => {
    const [context, name] = aggregate.split('.') as [string, string];
    return `cortex.evt.${context}.${assertToken('workspace_id', workspace ?? NO_WORKSPACE)}.${name}.${assertToken('id', id)}`;
  },
  sse: (session: string, stream: string) => `cortex.sse.${session}.${stream}`,
} as const;

export interface EventSubject {
  context: string;
  workspace: string;
  aggregate: string;
  id: string;
}

/** The parts of a commit's subject, or null when it is none. */
export function parseEventSubject(subject: string): EventSubject | null {
  const [root, evt, context, workspace, aggregate, id, ...rest] = subject.split('.');
  if (root !== 'cortex' || evt !== 'evt' || !context || !workspace || !aggregate || !id || rest.length > 0) return null;
  return { context, workspace, aggregate, id };
}

/** Call records of what is no tool call. */
export const REQUEST_RECORD = '_request';
export const AUTH_FAILURE_RECORD = '_auth_failure';

export const inboxPrefix = (user: string): string => `_INBOX_${user}`;

/** The stream that carries a subject of the log. */
export const streamOf = (subject: string): string =>
  subject.startsWith('cortex.call.') ? CALLS_STREAM : EVENTS_STREAM;

/** Header that tells a commit from anything else that may lie in the stream; its value is the commit id. */
export const COMMIT_HEADER = 'Cortex-Commit';

export interface Bucket {
  name: string;
  /** Seconds; 0 keeps entries for ever. The time to live is the bucket's, which every NATS version has. */
  ttl_s: number;
  /** Services that may write to it, each below its own key prefix where `own_prefix` is set. */
  writers: readonly string[] | 'all';
  /** Keys begin with the writer's service name: `<service>` or `<service>.<more>`. */
  own_prefix?: true;
}

export const BUCKETS = {
  tools: { name: 'cortex_tools', ttl_s: 0, writers: 'all', own_prefix: true },
  nodes: { name: 'cortex_nodes', ttl_s: 10, writers: 'all', own_prefix: true },
  mcpSessions: { name: 'cortex_mcp_sessions', ttl_s: 86_400, writers: ['mcp-edge'] },
  rateLimit: { name: 'cortex_ratelimit', ttl_s: 120, writers: ['mcp-edge'] },
  idempotency: { name: 'cortex_idempotency', ttl_s: 86_400, writers: ['mcp-edge'] },
  /** Who holds which exposed name. */
  catalog: { name: 'cortex_catalog', ttl_s: 0, writers: ['mcp-edge'] },
} as const satisfies Record<string, Bucket>;

/**
 * Stream of bodies over 512 KiB: chunks on `cortex.blob.<service>.<object>.<n>`, read by direct get and dropped by age.
 * Not NATS's own object store: reading that makes a consumer and deleting purges, which no service may do.
 */
export const BLOBS = 'cortex_blobs';
export const BLOB_TTL_S = 86_400;
/** Bytes above which a body travels by reference. Source: architecture, section 11.2. */
export const INLINE_LIMIT = 512 * 1024;
