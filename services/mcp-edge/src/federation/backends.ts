import { ACTION_CLASSES, type ActionClass } from '@cortex/contracts';
import { transportVerdict } from '@cortex/contracts/transport-policy';
import type { Backend, TokenMode } from './types.js';

/** The variables of all backends together; the others are `CORTEX_BACKEND_<ID>_…`. */
export interface BackendDefaults {
  CORTEX_BACKENDS: readonly string[];
  CORTEX_TICKET_BACKENDS: readonly string[];
  CORTEX_TECHNICAL_TOKEN?: string | undefined;
  CORTEX_TECHNICAL_CLIENT_ID?: string | undefined;
  CORTEX_TECHNICAL_CLIENT_SECRET?: string | undefined;
  CORTEX_ALLOW_INSECURE_BACKENDS: boolean;
  CORTEX_ALLOW_UNPREFIXED: boolean;
  CORTEX_REQUIRE_TOKEN_EXCHANGE: boolean;
  CORTEX_TOOL_NAME_MAX: number;
  production: boolean;
}

export interface ConfiguredBackends {
  readonly backends: readonly Backend[];
  /** What makes a start impossible, one sentence each. */
  readonly faults: readonly string[];
  /** Backends that are left out while the others serve. */
  readonly skipped: readonly string[];
  readonly warnings: readonly string[];
}

const ID = /^[a-z0-9][a-z0-9-]{0,30}$/;
const RESERVED = new Set(['cortex', 'gateway', 'agent', 'workspace']);
const PREFIX = /^[A-Za-z0-9_-]*$/;
const SCHEME = /^[a-z][a-z0-9+.-]*$/;
const PATH = /^\/[\x21-\x7e]*$/;
const MODES: readonly TokenMode[] = ['passthrough', 'none'];
const MAX_TIMEOUT_MS = 300_000;
/** Of a name at least these are left beside the prefix: four characters, a line and eight digits. */
const SHORTEST_REST = 13;
const VARIABLES = [
  'URL',
  'PATH',
  'TIMEOUT_MS',
  'SCOPE_PREFIXES',
  'URI_SCHEMES',
  'PREFIX',
  'TOKEN_MODE',
  'TECHNICAL_TOKEN',
  'EVENT_TOKEN',
  'ACTIONS',
] as const;

/**
 * The backends that the environment names, in its order. Every fault is found in one pass. A listed id without a URL is left out silently, one
 * whose URL breaks the transport policy with a sentence. Source: gateway, sections 13.1, 13.3, 23 and 26.4.
 */
export function configuredBackends(
  defaults: BackendDefaults,
  environment: Readonly<Record<string, unknown>>,
): ConfiguredBackends {
  const found = {
    backends: [] as Backend[],
    faults: [] as string[],
    skipped: [] as string[],
    warnings: [] as string[],
  };
  const named = defaults.CORTEX_BACKENDS.map((id) => id.toLowerCase());
  const ids = [...new Set(named)];
  const repeated = ids.filter((id) => named.indexOf(id) !== named.lastIndexOf(id));
  if (repeated.length > 0)
    found.warnings.push(`CORTEX_BACKENDS names ${repeated.join(', ')} more than once; each counts once, take it out`);
  const taken = new Map<string, string>();
  for (const [order, id] of ids.entries()) {
    if (!ID.test(id) || RESERVED.has(id)) {
      const why = RESERVED.has(id) ? 'is reserved' : 'is no id of a-z, 0-9 and -, at most 31 characters';
      found.faults.push(`CORTEX_BACKENDS names "${id.slice(0, 64)}", which ${why}; choose another id`);
      continue;
    }
    const name = id.toUpperCase().replaceAll('-', '_');
    const twin = taken.get(name);
    if (twin !== undefined) {
      found.faults.push(
        `CORTEX_BACKENDS names "${twin}" and "${id}", which share the variables of ${name}; rename one`,
      );
      continue;
    }
    taken.set(name, id);
    const backend = new Reader(id, `CORTEX_BACKEND_${name}_`, order, defaults, environment, found).read();
    if (backend !== undefined) found.backends.push(withOwnSchemes(backend, found));
  }
  const technical =
    defaults.CORTEX_TECHNICAL_TOKEN === undefined ? undefined : secretFault(defaults.CORTEX_TECHNICAL_TOKEN);
  if (technical !== undefined) found.faults.push(`CORTEX_TECHNICAL_TOKEN ${technical}`);
  found.faults.push(...machineFaults(defaults));
  found.warnings.push(...misspelt(environment, taken));
  for (const owner of defaults.CORTEX_TICKET_BACKENDS)
    if (!ids.includes(owner.toLowerCase()))
      found.faults.push(
        `CORTEX_TICKET_BACKENDS names "${owner.slice(0, 64)}", which is none of CORTEX_BACKENDS; correct it`,
      );
  const passing = found.backends.filter(({ tokenMode }) => tokenMode === 'passthrough').map(({ id }) => id);
  if (passing.length > 0) {
    const which = passing.join(', ');
    if (defaults.CORTEX_REQUIRE_TOKEN_EXCHANGE)
      found.faults.push(
        `CORTEX_REQUIRE_TOKEN_EXCHANGE is set and ${which} would get the token of the caller; set CORTEX_BACKEND_<ID>_TOKEN_MODE=none`,
      );
    found.warnings.push(`these backends are given the token of the caller and have to verify its audience: ${which}`);
  }
  const open = found.backends
    .filter(({ technicalToken, machineIdentity }) => technicalToken === undefined && machineIdentity !== true)
    .map(({ id }) => id);
  if (open.length > 0) {
    const sentence = `CORTEX_TECHNICAL_TOKEN is missing, with which ${open.join(', ')} tell our requests for lists`;
    if (defaults.production) found.faults.push(`${sentence}; set it to 32 random bytes, here and there`);
    else found.warnings.push(`${sentence}; they are asked without a token`);
  }
  return found;
}

/** Cortex is known to backends by a text that is shared with them or by what the issuer says, never by a half of each. */
function machineFaults(defaults: BackendDefaults): string[] {
  const {
    CORTEX_TECHNICAL_CLIENT_ID: id,
    CORTEX_TECHNICAL_CLIENT_SECRET: secret,
    CORTEX_TECHNICAL_TOKEN: token,
  } = defaults;
  if ((id === undefined) !== (secret === undefined)) {
    const missing = id === undefined ? 'CORTEX_TECHNICAL_CLIENT_ID' : 'CORTEX_TECHNICAL_CLIENT_SECRET';
    return [`${missing} is missing; a client of the issuer has both, or neither is set`];
  }
  return id !== undefined && token !== undefined
    ? ['CORTEX_TECHNICAL_TOKEN and CORTEX_TECHNICAL_CLIENT_ID are both set; keep one of them']
    : [];
}

/** A scheme is of the first backend that claims it. */
function withOwnSchemes(backend: Backend, found: { backends: readonly Backend[]; warnings: string[] }): Backend {
  const ownerOf = (scheme: string) => found.backends.find(({ uriSchemes }) => uriSchemes.includes(scheme));
  for (const scheme of backend.uriSchemes) {
    const owner = ownerOf(scheme);
    if (owner !== undefined)
      found.warnings.push(
        `${backend.id} claims the scheme ${scheme}, which is of ${owner.id}; its items of it are left out`,
      );
  }
  return Object.freeze({
    ...backend,
    uriSchemes: backend.uriSchemes.filter((scheme) => ownerOf(scheme) === undefined),
  });
}

class Reader {
  constructor(
    private readonly id: string,
    private readonly start: string,
    private readonly order: number,
    private readonly defaults: BackendDefaults,
    private readonly environment: Readonly<Record<string, unknown>>,
    private readonly found: { faults: string[]; skipped: string[]; warnings: string[] },
  ) {}

  read(): Backend | undefined {
    const { id } = this;
    const base = this.#base();
    const path = this.#text('PATH') ?? '/api/cortex/backend';
    if (!PATH.test(path) || /[?#]/.test(path)) this.#fault('PATH', 'is no path; begin it with a slash, no ? and no #');
    const prefix = this.#prefix();
    const scopePrefixes = this.#list('SCOPE_PREFIXES') ?? [`mcp:${id}:`];
    const own = scopePrefixes.find((scope) => 'mcp:cortex:'.startsWith(scope) || scope.startsWith('mcp:cortex:'));
    if (own !== undefined) this.#fault('SCOPE_PREFIXES', `holds "${own}", which are scopes of Cortex; take it out`);
    const uriSchemes = (this.#list('URI_SCHEMES') ?? [id]).map((scheme) => scheme.toLowerCase().replace(/:$/, ''));
    // An id may begin with a digit, a scheme may not: such a backend has resources only if it names a scheme.
    const schemes = this.#text('URI_SCHEMES') === undefined ? uriSchemes.filter((s) => SCHEME.test(s)) : uriSchemes;
    for (const scheme of schemes)
      if (!SCHEME.test(scheme) || scheme === 'cortex')
        this.#fault('URI_SCHEMES', `holds "${scheme}", which is ${scheme === 'cortex' ? 'reserved' : 'no scheme'}`);
    const tokenMode = (this.#text('TOKEN_MODE') ?? 'passthrough') as TokenMode;
    if (!MODES.includes(tokenMode)) this.#fault('TOKEN_MODE', `is not one of ${MODES.join(', ')}`);
    const technicalToken = this.#secret('TECHNICAL_TOKEN') ?? this.defaults.CORTEX_TECHNICAL_TOKEN;
    const machineIdentity = technicalToken === undefined && this.defaults.CORTEX_TECHNICAL_CLIENT_ID !== undefined;
    if (base === undefined) return undefined;
    if (base.plaintext === 'remote' && tokenMode === 'passthrough') {
      const why = 'is http to another machine and would get the token of the caller in the clear';
      this.found.skipped.push(
        `backend ${id} is left out: ${this.start}URL ${why}; use https or ${this.start}TOKEN_MODE=none`,
      );
      return undefined;
    }
    if (base.plaintext === 'remote')
      this.found.warnings.push(
        `backend ${id} is asked over http on another machine, where everybody on the way can read along`,
      );
    return {
      id,
      url: base.url,
      path,
      prefix,
      scopePrefixes,
      uriSchemes: schemes,
      timeoutMs: this.#milliseconds(),
      technicalToken,
      ...(machineIdentity && { machineIdentity }),
      eventToken: this.#secret('EVENT_TOKEN'),
      tokenMode,
      actions: this.#actions(),
      ownsTickets: this.defaults.CORTEX_TICKET_BACKENDS.some((owner) => owner.toLowerCase() === id),
      order: this.order,
    };
  }

  #base(): { url: string; plaintext: 'no' | 'loopback' | 'remote' } | undefined {
    const text = this.#text('URL');
    if (text === undefined) return undefined;
    const verdict = transportVerdict(text, this.defaults.CORTEX_ALLOW_INSECURE_BACKENDS);
    if (!verdict.allowed) {
      this.found.skipped.push(`backend ${this.id} is left out: ${this.start}URL ${verdict.problem}`);
      return undefined;
    }
    const { url, plaintext } = verdict;
    if (url.search !== '' || url.hash !== '') this.#fault('URL', 'has a query or a fragment; remove it');
    return { url: `${url.origin}${url.pathname.replace(/\/+$/, '')}`, plaintext };
  }

  #prefix(): string {
    const given = this.#text('PREFIX') ?? `${this.id}_`;
    // An empty variable is what compose files make of an unset one, so "no prefix" has a word.
    const prefix = given === 'none' ? '' : given;
    if (!PREFIX.test(prefix)) this.#fault('PREFIX', 'has other characters than A-Z, a-z, 0-9, _ and -');
    if (prefix === '' && !this.defaults.CORTEX_ALLOW_UNPREFIXED)
      this.#fault('PREFIX', 'is "none"; set CORTEX_ALLOW_UNPREFIXED=true as well, or give one');
    const longest = this.defaults.CORTEX_TOOL_NAME_MAX - SHORTEST_REST;
    if (Math.max(prefix.length, this.id.length + 1) > longest)
      this.#fault(
        'PREFIX',
        `leaves no room in a name of ${this.defaults.CORTEX_TOOL_NAME_MAX}; at most ${longest} characters`,
      );
    return prefix;
  }

  #milliseconds(): number {
    const text = this.#text('TIMEOUT_MS') ?? '10000';
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < 1 || value > MAX_TIMEOUT_MS)
      this.#fault('TIMEOUT_MS', `is no whole number of milliseconds from 1 to ${MAX_TIMEOUT_MS}`);
    return value;
  }

  #actions(): readonly ActionClass[] {
    const named = this.#list('ACTIONS') ?? ['networkEgress'];
    const unknown = named.filter((name) => !(ACTION_CLASSES as readonly string[]).includes(name));
    if (unknown.length > 0)
      this.#fault('ACTIONS', `holds ${unknown.join(', ')}; use some of ${ACTION_CLASSES.join(', ')}`);
    return named as ActionClass[];
  }

  /** A header value: an invisible character of a pasted secret is found here, not as a connection that fails. */
  #secret(name: string): string | undefined {
    const text = this.#text(name);
    const fault = text === undefined ? undefined : secretFault(text);
    if (fault !== undefined) this.#fault(name, fault);
    return text;
  }

  #list(name: string): string[] | undefined {
    return this.#text(name)
      ?.split(/[\s,]+/)
      .filter(Boolean);
  }

  #text(name: string): string | undefined {
    const value = this.environment[this.start + name];
    return typeof value === 'string' && value !== '' ? value : undefined;
  }

  #fault(name: string, problem: string): void {
    this.found.faults.push(`${this.start}${name} ${problem}`);
  }
}

/** What keeps a text from being sent as a bearer token; undefined when nothing does. */
export function secretFault(text: string): string | undefined {
  const at = text.search(/[^\x21-\x7e]/);
  if (at < 0) return undefined;
  const code = text.codePointAt(at)?.toString(16).toUpperCase().padStart(4, '0');
  return `has the character U+${code} at position ${at + 1}; copy it again`;
}

/** A variable of a backend that nobody reads is a slip that would otherwise be met as a default. */
function misspelt(environment: Readonly<Record<string, unknown>>, taken: ReadonlyMap<string, string>): string[] {
  const known = new Set([...taken.keys()].flatMap((name) => VARIABLES.map((end) => `CORTEX_BACKEND_${name}_${end}`)));
  return Object.keys(environment)
    .filter((name) => name.startsWith('CORTEX_BACKEND_') && !known.has(name) && !SHARED.has(name))
    .map((name) => `${name} is read by nobody; see CORTEX_BACKENDS and how the variable is spelt`);
}
const SHARED = new Set(['CORTEX_BACKEND_ERROR_STYLE', 'CORTEX_BACKEND_MAX_STREAM_MS']);
