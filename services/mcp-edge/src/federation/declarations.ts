import { isObject } from '@cortex/contracts/is-object';
import { compact, membersOf, partsOf } from './json-text.js';
import { isMimeType } from './mime-type.js';
import { withoutOwnKeys } from './own-meta.js';
import type { Fault } from './schemas/document.js';
import type {
  Backend,
  BadSchema,
  DeclaredItem,
  DeclaredPrompt,
  DeclaredResource,
  DeclaredTemplate,
  DeclaredTool,
} from './types.js';

/** The schemas of a tool, checked; `fault` takes the whole tool away, `outputFault` its output schema. */
export type SchemaRead =
  | {
      readonly input: { readonly text: string; readonly value: Readonly<Record<string, unknown>> };
      /** A missing `type` was put in. */
      readonly repaired?: true;
      readonly output?: { readonly text: string; readonly value: Readonly<Record<string, unknown>> };
      readonly outputFault?: Fault;
    }
  | { readonly fault: Fault };
/** Reads `inputSchema`, `params` and `outputSchema` out of a tool's members (compact texts) and the same as values. */
export type ReadSchemas = (raw: ReadonlyMap<string, string>, value: Readonly<Record<string, unknown>>) => SchemaRead;

export interface Rules {
  readonly backend: Backend;
  /** Names of the gateway's built-ins: a tool of such a name is hidden. */
  readonly builtins: ReadonlySet<string>;
  readonly production: boolean;
  readonly readSchemas: ReadSchemas;
}

/** Items of the last reading by their text: what did not change stays the same object, with all that was worked out for it. */
export type Known<T> = ReadonlyMap<string, T>;

/** The good items of a list and a sentence for each one that was left out. */
export interface Read<T> {
  readonly items: readonly T[];
  readonly known: Known<T>;
  readonly faults: readonly string[];
  /** Why each named one of them was left out. */
  readonly leftOut: ReadonlyMap<string, string>;
  /** The tools among them that were left out because of their schemas. */
  readonly badSchemas: readonly BadSchema[];
}

const MAX_NAME = 128;
const MAX_TIMEOUT_MS = 300_000;
const DEFAULT_VERSION = '1.0.0';
/** A scope as it may stand in a token: no space, no quote, no backslash. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/;

type Json = Readonly<Record<string, unknown>>;
type Kind = 'tool' | 'prompt' | 'template' | 'resource';
type Raw = ReadonlyMap<string, string>;

export const readTools = (rules: Rules, list: string, known?: Known<DeclaredTool>): Read<DeclaredTool> =>
  readList<DeclaredTool>('tool', rules, list, known, 'name', (item, name, note) => {
    if (rules.builtins.has(name)) return { fault: 'has the name of a tool of the gateway and is hidden' };
    const schemas = rules.readSchemas(item.raw, item.value);
    if ('fault' in schemas) return { fault: schemaSentence('inputSchema', schemas.fault), schema: schemas.fault };
    if (schemas.outputFault !== undefined) note(schemaSentence('outputSchema', schemas.outputFault));
    const { value } = item;
    const timeoutMs = Number(value['timeoutMs']);
    const output = schemas.output;
    return {
      ...item,
      original: name,
      description: String(value['description']),
      inputSchema: schemas.input.value,
      schemaTexts: { input: schemas.input.text, ...(output && { output: output.text }) },
      ...(output && { outputSchema: output.value }),
      ...(schemas.repaired && { repaired: true as const }),
      ...(schemas.outputFault && { outputFault: schemas.outputFault }),
      ...(typeof value['title'] === 'string' && { title: value['title'] }),
      ...(isObject(value['annotations']) && { annotations: value['annotations'] }),
      version: text(value, 'version') ?? DEFAULT_VERSION,
      ...deprecation(value['deprecated']),
      ...(timeoutMs >= 1 && { timeoutMs: Math.min(timeoutMs, MAX_TIMEOUT_MS) }),
    };
  });

export const readPrompts = (rules: Rules, list: string, known?: Known<DeclaredPrompt>): Read<DeclaredPrompt> =>
  readList<DeclaredPrompt>('prompt', rules, list, known, 'name', (item, name) => {
    const given = item.value['arguments'];
    const named = given === undefined || (Array.isArray(given) && given.every((a) => text(a, 'name') !== undefined));
    if (!named) return { fault: 'has arguments without a name' };
    return { ...item, original: name, description: String(item.value['description']) };
  });

export const readTemplates = (rules: Rules, list: string, known?: Known<DeclaredTemplate>): Read<DeclaredTemplate> =>
  readList<DeclaredTemplate>('template', rules, list, known, 'uriTemplate', (item, uriTemplate) => ({
    ...item,
    uriTemplate,
    name: String(item.value['name']),
  }));

export const readResources = (rules: Rules, list: string, known?: Known<DeclaredResource>): Read<DeclaredResource> =>
  readList<DeclaredResource>('resource', rules, list, known, 'uri', (item, uri) => ({
    ...item,
    uri,
    name: String(item.value['name']),
  }));

/** `list` is the compact text of the array. One bad item costs itself and no other. */
function readList<T>(
  kind: Kind,
  rules: Rules,
  list: string,
  known: Known<T> = new Map(),
  key: 'name' | 'uri' | 'uriTemplate',
  make: (item: DeclaredItem, id: string, note: (text: string) => void) => T | { fault: string; schema?: Fault },
): Read<T> {
  const items = new Map<string, T>();
  const faults: string[] = [];
  const leftOut = new Map<string, string>();
  const badSchemas: BadSchema[] = [];
  const seen = new Set<string>();
  for (const [position, json] of partsOf(list).entries()) {
    const value = JSON.parse(json) as unknown;
    const id = text(value, key);
    const who = `${kind} ${id === undefined ? `number ${position + 1}` : JSON.stringify(id.slice(0, MAX_NAME))}`;
    const fault = isObject(value) ? itemFault(kind, rules.backend, value, id, seen) : 'is no object';
    if (fault !== undefined || id === undefined || !isObject(value)) {
      faults.push(`${who} ${fault}`);
      if (id !== undefined) leftOut.set(id, String(fault));
      continue;
    }
    seen.add(id);
    const before = known.get(json);
    if (before !== undefined) {
      items.set(json, before);
      continue;
    }
    const { members, notes } = cleaned(membersOf(json), rules.production);
    const item = { scope: String(value['scope']), raw: members, value: valuesOf(value, members) };
    const made = make(item, id, (note) => notes.push(note));
    for (const note of notes) faults.push(`${who} ${note}`);
    if (isFault(made)) {
      faults.push(`${who} ${made.fault}`);
      leftOut.set(id, made.fault);
      if (made.schema !== undefined) badSchemas.push({ tool: id, part: 'inputSchema', ...made.schema });
    } else items.set(json, made);
  }
  return { items: [...items.values()], known: items, faults, leftOut, badSchemas };
}

const schemaSentence = (part: BadSchema['part'], { pointer, reason, detail }: Fault): string =>
  `has an ${part} that cannot be offered: ${reason} at ${pointer === '' ? 'the root' : pointer}, ${detail}`;

function itemFault(
  kind: Kind,
  backend: Backend,
  value: Json,
  id: string | undefined,
  seen: ReadonlySet<string>,
): string | undefined {
  const resource = kind === 'template' || kind === 'resource';
  if (id === undefined) return `has no ${resource ? 'URI' : 'name'}`;
  if (!resource && (id.length > MAX_NAME || /\p{Cc}/u.test(id)))
    return `has a name of more than ${MAX_NAME} characters or with control characters`;
  if (seen.has(id)) return 'is declared twice; the first one counts';
  const scope = value['scope'];
  if (typeof scope !== 'string' || !SCOPE.test(scope)) return 'has no scope';
  if (!backend.scopePrefixes.some((prefix) => scope.startsWith(prefix)))
    return `has the scope ${scope}, which is under none of ${backend.scopePrefixes.join(', ')}`;
  if (!resource) return text(value, 'description') === undefined ? 'has no description' : undefined;
  if (text(value, 'name') === undefined) return 'has no name';
  return ownScheme(backend, id) ? undefined : `is under none of the schemes ${backend.uriSchemes.join(', ')}`;
}

/** Whether a URI (or the literal beginning of a template) is in a scheme of this backend. */
export const ownScheme = ({ uriSchemes }: Backend, uri: string): boolean => {
  const end = uri.indexOf(':');
  return end > 0 && uriSchemes.includes(uri.slice(0, end).toLowerCase());
};

/** Without icons that a client must not load, and without `_meta` keys that are ours alone to set (threat T12). */
function cleaned(members: Map<string, string>, production: boolean): { members: Raw; notes: string[] } {
  const notes: string[] = [];
  const meta = members.get('_meta');
  if (meta !== undefined) {
    const own = meta.startsWith('{') ? withoutOwnKeys(meta) : undefined;
    if (own === undefined) members.delete('_meta');
    else members.set('_meta', own);
  }
  const mimeType = members.get('mimeType');
  if (mimeType !== undefined && !isMimeType(JSON.parse(mimeType))) {
    members.delete('mimeType');
    notes.push('has a mimeType that is none');
  }
  const icons = members.get('icons');
  if (icons !== undefined) {
    const all = icons.startsWith('[') ? partsOf(icons) : [];
    const good = all.filter((icon) => isIcon(JSON.parse(icon), production));
    if (good.length < all.length || !icons.startsWith('[')) notes.push('has icons that are neither https: nor data:');
    if (good.length === 0) members.delete('icons');
    else members.set('icons', `[${good.join(',')}]`);
  }
  return { members, notes };
}

function isIcon(icon: unknown, production: boolean): boolean {
  const src = text(icon, 'src') ?? '';
  return (
    /^(https:\/\/|data:)/i.test(src) || (!production && /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])[:/]/i.test(src))
  );
}

function valuesOf(value: Json, members: Raw): Json {
  const changed = ['_meta', 'icons', 'mimeType'].filter((key) => value[key] !== undefined);
  if (changed.length === 0) return value;
  const rest = Object.fromEntries(Object.entries(value).filter(([key]) => !changed.includes(key)));
  for (const key of changed) {
    const json = members.get(key);
    if (json !== undefined) rest[key] = JSON.parse(json);
  }
  return rest;
}

function deprecation(value: unknown): Pick<DeclaredTool, 'deprecated'> {
  const removedAt = text(value, 'removedAt');
  if (removedAt === undefined) return {};
  const replacedBy = text(value, 'replacedBy');
  const reason = text(value, 'reason');
  return { deprecated: { removedAt, ...(replacedBy && { replacedBy }), ...(reason && { reason }) } };
}

/** The compact text of one list in the answer of a backend; undefined when it is none. */
export function listOf(answer: string, value: unknown, key: string): string | undefined {
  if (!isObject(value) || !Array.isArray(value[key])) return undefined;
  return membersOf(compact(answer)).get(key);
}

const isFault = (made: unknown): made is { fault: string; schema?: Fault } =>
  isObject(made) && typeof made['fault'] === 'string' && !('scope' in made);
const text = (value: unknown, key: string): string | undefined => {
  const found = isObject(value) ? value[key] : undefined;
  return typeof found === 'string' && found !== '' ? found : undefined;
};
