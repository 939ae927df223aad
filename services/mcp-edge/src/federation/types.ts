import type { ActionClass } from '@cortex/contracts';
import type { CallerContext } from '../seams.js';
import type { Fault } from './schemas/document.js';

/** Which token a data call of a backend carries: the caller's own, or none at all. */
export type TokenMode = 'passthrough' | 'none';

/** One backend as the environment configures it, checked. Frozen; the same object for the life of the process. */
export interface Backend {
  /** Lower case, `[a-z0-9][a-z0-9-]{0,30}`. */
  readonly id: string;
  /** Base URL without a trailing slash, and the path of the contract's one endpoint. Neither is ever shown to a client. */
  readonly url: string;
  readonly path: string;
  /** What stands in front of its names: `<id>_` unless configured. */
  readonly prefix: string;
  /** Every scope of its items begins with one of these. */
  readonly scopePrefixes: readonly string[];
  /** Lower case, without the colon. */
  readonly uriSchemes: readonly string[];
  /** Milliseconds that a call may take without a sign of life. */
  readonly timeoutMs: number;
  /** For the catalogue alone; undefined when none is configured. */
  readonly technicalToken: string | undefined;
  /** The catalogue is asked for with a token that the issuer gives to Cortex itself. */
  readonly machineIdentity?: true;
  /** With which the backend itself may report events; undefined: it may not. */
  readonly eventToken: string | undefined;
  readonly tokenMode: TokenMode;
  /** Action classes of its tools for the guard rail. */
  readonly actions: readonly ActionClass[];
  /** Whether it keeps the tickets about what is missing in it itself. */
  readonly ownsTickets: boolean;
  /** Position in `CORTEX_BACKENDS`. */
  readonly order: number;
}

/** What every item of a backend has. `raw` = its members as compact JSON texts, exactly as the backend wrote each value. */
export interface DeclaredItem {
  readonly scope: string;
  readonly raw: ReadonlyMap<string, string>;
  /** The members as values; `_meta` here and in `raw` is without keys that only Cortex may set. */
  readonly value: Readonly<Record<string, unknown>>;
}

/** A schema of a tool that is not offered. `tool` = its original name. */
export interface BadSchema extends Fault {
  readonly tool: string;
  readonly part: 'inputSchema' | 'outputSchema';
}

export interface DeclaredTool extends DeclaredItem {
  /** As the backend calls it. */
  readonly original: string;
  readonly description: string;
  /** As declared, or made of the shorthand `params`; `schemaTexts` is the same, byte for byte. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  readonly schemaTexts: { readonly input: string; readonly output?: string };
  readonly title?: string;
  readonly annotations?: Readonly<Record<string, unknown>>;
  /** Set where the declared `inputSchema` had no `type`, which was put in. */
  readonly repaired?: true;
  /** Why a declared `outputSchema` is not there. */
  readonly outputFault?: Fault;
  /** Semver; `1.0.0` when the backend names none. */
  readonly version: string;
  readonly deprecated?: { readonly removedAt: string; readonly replacedBy?: string; readonly reason?: string };
  /** Wins over the backend's own. */
  readonly timeoutMs?: number;
}
export interface DeclaredPrompt extends DeclaredItem {
  readonly original: string;
  readonly description: string;
}
export interface DeclaredTemplate extends DeclaredItem {
  readonly uriTemplate: string;
  readonly name: string;
}
export interface DeclaredResource extends DeclaredItem {
  readonly uri: string;
  readonly name: string;
}

/** What a backend declared at its last good refresh, inside its borders and well-formed; in the order of the backend. */
export interface Declared {
  readonly tools: readonly DeclaredTool[];
  readonly prompts: readonly DeclaredPrompt[];
  readonly templates: readonly DeclaredTemplate[];
  readonly resources: readonly DeclaredResource[];
}

/** A tool that the review holds back: not listed, and a call of it is told why instead of "unknown tool". */
export interface HeldTool {
  readonly tool: DeclaredTool;
  readonly why: 'changed' | 'pending' | 'degraded';
  /** What an operator does about it. */
  readonly remediation: string;
}

/** What became of a declaration in the review of definitions. `served` may hold other objects than the ones declared. */
export interface Reviewed {
  readonly served: Declared;
  readonly held: readonly HeldTool[];
  /** Scopes that a call needs beside the tool's own, by original name: those of the approved definition. */
  readonly extraScopes?: ReadonlyMap<string, readonly string[]>;
}
/** Called for every backend that answered, before anything of it is offered. Throws never. */
export type Review = (backend: Backend, declared: Declared) => Promise<Reviewed>;

/** SHA-256 over what makes up a definition; for provenance and approvals. */
export type DigestOf = (tool: DeclaredTool) => string;

/** A tool as the catalogue offers it, everything about its name and its calls worked out. */
export interface FederatedTool extends DeclaredTool {
  readonly backend: Backend;
  readonly exposed: string;
  readonly digest: string;
  readonly requiredScopes: readonly string[];
  /** Set while the review holds it back. */
  readonly held?: Omit<HeldTool, 'tool'>;
}
export interface FederatedPrompt extends DeclaredPrompt {
  readonly backend: Backend;
  readonly exposed: string;
}
export interface FederatedTemplate extends DeclaredTemplate {
  readonly backend: Backend;
}
export interface FederatedResource extends DeclaredResource {
  readonly backend: Backend;
}

/** All that the backends offer now; a new object when something changed, the same one when nothing did. Backends in their order. */
export interface FederatedCatalog {
  readonly tools: readonly FederatedTool[];
  readonly prompts: readonly FederatedPrompt[];
  readonly templates: readonly FederatedTemplate[];
  readonly resources: readonly FederatedResource[];
}
export type ListKind = 'tools' | 'prompts' | 'resources';
export const LIST_KINDS: readonly ListKind[] = ['tools', 'prompts', 'resources'];

/** What a backend tells while it works on a call, for whoever called. Absent functions: nobody wants it. */
export interface CallEvents {
  progress?(update: { progress: number; total?: number; message?: string }): void;
  log?(entry: { level: string; logger?: string; data: unknown }): void;
  /** The backend asks to close the connection and keep the call (2025-11-25). */
  closeStream?(): void;
}

/** One request of the contract. */
export interface BackendRequest {
  readonly method: string;
  /** JSON text of `params`. */
  readonly params: string;
  /** JSON text of `context` (level 2). */
  readonly context?: string;
  /** `technical` for the catalogue, else whose call it is. */
  readonly as: 'technical' | CallerContext;
  readonly requestId: string;
  readonly idempotencyKey?: string;
  readonly traceparent?: string;
  readonly tracestate?: string;
  readonly baggage?: string;
  /** Instead of the backend's own. */
  readonly timeoutMs?: number;
  readonly events?: CallEvents;
}

/**
 * What a backend answered. `refused` = an HTTP status other than 200 or a final `error` line; `body` is what it sent with it. `away` = nobody
 * there, the breaker open (`sent` false: nothing reached it), or the connection broke (`sent` true: the outcome is unknown).
 */
export type BackendAnswer =
  | { readonly kind: 'result'; readonly native: boolean; readonly text: string; readonly value: unknown }
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly error: string | undefined;
      readonly required: string | undefined;
      readonly body: unknown;
    }
  | { readonly kind: 'timeout'; readonly afterMs: number }
  | { readonly kind: 'away'; readonly sent: boolean; readonly retryAfterMs: number }
  | { readonly kind: 'busy' }
  | { readonly kind: 'invalid'; readonly why: string }
  | { readonly kind: 'cancelled' };
