import { sha256Hex } from '@cortex/contracts';
import type { Definition, DefinitionFields, ItemKind } from '@cortex/contracts/definition';
import { hiddenText, shown } from '@cortex/contracts/text-rules';
import { membersOf, partsOf } from '../json-text.js';
import type { Declared, DeclaredItem, DeclaredTool } from '../types.js';

/** Where in an item a rule of the scan fired. */
export interface Finding {
  readonly rule: string;
  /** `name`, or a field and a JSON Pointer below it: `inputSchema/properties/q/description`. */
  readonly place: string;
  readonly snippet: string;
}

/** One item as the backend declares it now. */
export interface Observed {
  readonly kind: ItemKind;
  readonly name: string;
  readonly definition: Definition;
  /** Of its fields as JSON. */
  readonly bytes: number;
  /** What of it tries to be read in another way than it looks. */
  readonly findings: readonly Finding[];
}

/**
 * What makes up a definition, in the order of the digest. Not of it: the size of a resource and when it was modified, which say something of
 * its content and not what it is for.
 */
const FIELDS: Readonly<Record<ItemKind, readonly string[]>> = {
  tool: [
    'scope',
    'description',
    'params',
    'inputSchema',
    'version',
    'deprecated',
    'title',
    'outputSchema',
    'annotations',
    'task',
  ],
  prompt: ['scope', 'description', 'arguments', 'title'],
  template: ['scope', 'name', 'description', 'mimeType', 'title', 'annotations'],
  resource: ['scope', 'name', 'description', 'mimeType', 'title', 'annotations'],
};

const CONTENT_FACTS = new Set(['lastModified']);

export const fieldsOf = (kind: ItemKind): readonly string[] => FIELDS[kind];

/** SHA-256 over `field=canonical` pairs joined by a blank; an absent field counts as null. Source: gateway, section 17.2. */
export const digestOf = (kind: ItemKind, fields: DefinitionFields): string =>
  sha256Hex(FIELDS[kind].map((field) => `${field}=${fields[field] ?? 'null'}`).join(' '));

/** Names of the fields that differ. The texts decide, not the digests. */
export const changedFields = (kind: ItemKind, a: DefinitionFields, b: DefinitionFields): string[] =>
  FIELDS[kind].filter((field) => (a[field] ?? 'null') !== (b[field] ?? 'null'));

/**
 * Canonical JSON of a compact JSON text: keys sorted by UTF-16 code unit at every depth, strings in one spelling. Numbers stay as they are
 * written, and of a key that stands twice both stay: what reaches a client is the text, and which of the two it takes is its own affair.
 */
export function canonical(json: string): string {
  if (json.startsWith('{')) {
    const members = partsOf(json).map((member) => {
      const [[key, value]] = [...membersOf(`{${member}}`)] as [[string, string]];
      return [key, `${JSON.stringify(key)}:${canonical(value)}`] as const;
    });
    return `{${members
      .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
      .map(([, text]) => text)
      .join(',')}}`;
  }
  if (json.startsWith('[')) return `[${partsOf(json).map(canonical).join(',')}]`;
  return json.startsWith('"') ? JSON.stringify(JSON.parse(json)) : json;
}

/** Everything that a backend declares, each item worked out once for as long as it is the same object. */
export function observe(declared: Declared): Observed[] {
  return [
    ...declared.tools.map((item) => observed('tool', item.original, item)),
    ...declared.prompts.map((item) => observed('prompt', item.original, item)),
    ...declared.templates.map((item) => observed('template', item.uriTemplate, item)),
    ...declared.resources.map((item) => observed('resource', item.uri, item)),
  ];
}

/** Digest of a tool's definition, for provenance and approvals. */
export const toolDigest = (tool: DeclaredTool): string => observed('tool', tool.original, tool).definition.digest;

const known = new WeakMap<DeclaredItem, Observed>();

function observed(kind: ItemKind, name: string, item: DeclaredItem): Observed {
  const before = known.get(item);
  if (before !== undefined) return before;
  const texts = FIELDS[kind].flatMap((field) => {
    const json = claimOf(kind, field, item.raw.get(field));
    return json === undefined || json === 'null' ? [] : [[field, json] as const];
  });
  const fields = Object.fromEntries(texts.map(([field, json]) => [field, canonical(json)]));
  const order = sha256Hex(texts.map(([field, json]) => `${field}=${json}`).join(' '));
  const made: Observed = {
    kind,
    name,
    definition: { digest: digestOf(kind, fields), fields, order },
    bytes: Buffer.byteLength(JSON.stringify(fields)),
    findings: scan(name, item),
  };
  known.set(item, made);
  return made;
}

function claimOf(kind: ItemKind, field: string, json: string | undefined): string | undefined {
  if (kind === 'tool' || field !== 'annotations' || !json?.startsWith('{')) return json;
  const rest = [...membersOf(json)].filter(([key]) => !CONTENT_FACTS.has(key));
  return rest.length === 0 ? undefined : `{${rest.map(([key, text]) => `${JSON.stringify(key)}:${text}`).join(',')}}`;
}

/** Every string of an item, keys and members that nobody knows included: all of it can reach a model. */
function scan(name: string, { raw }: DeclaredItem): Finding[] {
  const findings: Finding[] = [];
  const look = (text: string, place: string): void => {
    for (const finding of hiddenText(text)) findings.push({ ...finding, place: shown(place).slice(0, 200) });
  };
  const walk = (json: string, place: string): void => {
    if (json.startsWith('"')) return look(JSON.parse(json) as string, place);
    const parts = json.startsWith('{') || json.startsWith('[') ? partsOf(json) : [];
    const keys = new Set<string>();
    for (const [index, part] of parts.entries()) {
      if (json.startsWith('[')) {
        walk(part, `${place}/${index}`);
        continue;
      }
      const [[key, value]] = [...membersOf(`{${part}}`)] as [[string, string]];
      const below = `${place}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      if (keys.has(key))
        findings.push({ rule: 'duplicate_member', place: shown(below).slice(0, 200), snippet: 'stands twice' });
      keys.add(key);
      look(key, below);
      walk(value, below);
    }
  };
  look(name, 'name');
  // Pictures are no text, and in base64 they are long.
  for (const [field, json] of raw) if (field !== 'name' && field !== 'uri' && field !== 'icons') walk(json, field);
  return findings;
}
