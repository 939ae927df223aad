import { type KeyObject, sign as signBytes, verify } from 'node:crypto';
import { invalidArgument } from '@cortex/contracts';
import { type Definition, ITEM_KINDS, type ItemKind, type Seal } from '@cortex/contracts/definition';
import { z } from 'zod';
import { canonical, digestOf, fieldsOf } from './fingerprint.js';
import { isSealed, pemOf, sealOf } from './seal.js';

const Digest = z.string().regex(/^[0-9a-f]{64}$/);
const Entry = z.object({
  app: z.string().min(1),
  name: z.string().min(1),
  /** Only below `items`: `prompt`, `template` or `resource`. */
  kind: z.enum(ITEM_KINDS).optional(),
  firstSeenAt: z.string(),
  fields: z.record(z.string(), z.unknown()),
  digest: Digest,
  /** Proof for this item alone, so that each approval in the log carries its own. */
  seal: z.object({ at: z.string(), value: z.string() }).optional(),
});
const Quarantined = z.object({
  tool: z.string(),
  app: z.string(),
  changed: z.array(z.string()),
  reasons: z.array(z.string()),
  firstSeenAt: z.string(),
});
const BLOCKS = ['version', 'savedAt', 'tools', 'items', 'quarantine'] as const;
const Document = z.object({
  version: z.literal(2),
  savedAt: z.iso.datetime(),
  tools: z.record(z.string(), Entry),
  items: z.record(z.string(), Entry),
  quarantine: z.record(z.string(), Quarantined),
  trust: z
    .object({
      signed_blocks: z.array(z.string()),
      scope: z.literal('partial'),
      algorithm: z.literal('Ed25519'),
      trust_level: z.enum(['self-signed', 'operator']),
      public_key_hint: z.string().optional(),
    })
    .optional(),
  signature: z.object({ value: z.string(), created_at: z.string(), public_key: z.string() }).optional(),
});
/** A baseline as a file: every approved definition of every backend, to be reviewed and signed elsewhere. Source: gateway, sections 17.4 and 17.5. */
export type BaselineDocument = z.infer<typeof Document>;
export type BaselineEntry = z.infer<typeof Entry>;

/** Checked for its shape, and each entry for its digest. Errors: `invalid_argument` (baseline). */
export function readDocument(value: unknown): BaselineDocument {
  const read = Document.safeParse(value);
  if (!read.success) {
    const [issue] = read.error.issues;
    throw refused(`is no baseline of version 2 (${issue?.path.join('.') || 'document'}: ${issue?.message})`, PROPOSE);
  }
  for (const [key, entry] of entriesOf(read.data)) {
    const kind = kindOf(entry);
    if (key !== documentKey(entry.app, kind, entry.name))
      throw refused(`has ${JSON.stringify(key)} for another item`, PROPOSE);
    const unknown = Object.keys(entry.fields).filter((field) => !fieldsOf(kind).includes(field));
    if (unknown.length > 0) throw refused(`has the unknown field ${unknown[0]} at ${JSON.stringify(key)}`, PROPOSE);
    if (definitionOf(entry).digest !== entry.digest)
      throw refused(`has another text than its digest at ${JSON.stringify(key)}`, PROPOSE);
  }
  return read.data;
}
const PROPOSE = 'begin with what cortex baseline proposal gives';
const refused = (problem: string, fix: string): Error => invalidArgument('baseline', problem, fix);

export const kindOf = ({ kind }: BaselineEntry): ItemKind => kind ?? 'tool';
export const documentKey = (app: string, kind: ItemKind, name: string): string =>
  kind === 'tool' ? `${app}/${name}` : `${app}/${kind}/${name}`;
export const entriesOf = ({ tools, items }: BaselineDocument): [string, BaselineEntry][] => [
  ...Object.entries(tools),
  ...Object.entries(items),
];

export function definitionOf(entry: BaselineEntry): Definition {
  const present = Object.entries(entry.fields).filter(([, value]) => value !== null);
  const fields = Object.fromEntries(present.map(([field, value]) => [field, String(value)]));
  return { digest: digestOf(kindOf(entry), fields), fields, order: '' };
}

const signedBytes = (document: BaselineDocument): Buffer => {
  const blocks = Object.fromEntries(BLOCKS.map((block) => [block, document[block]]));
  return Buffer.from(canonical(JSON.stringify(blocks)));
};

export interface SignOptions {
  readonly key: KeyObject;
  readonly publicKey: KeyObject;
  readonly level: 'self-signed' | 'operator';
  /** ISO 8601; the time of the approvals. */
  readonly at: string;
  /** URL under which the public key can be found. */
  readonly hint?: string | undefined;
}

/** The same with a new seal on every entry and a signature over all of it. */
export function signDocument(document: BaselineDocument, options: SignOptions): BaselineDocument {
  const { key, at } = options;
  const sealed = (entries: Record<string, BaselineEntry>) =>
    Object.fromEntries(
      Object.entries(entries).map(([name, entry]) => {
        const item = { kind: kindOf(entry), name: entry.name };
        return [name, { ...entry, seal: sealOf(key, entry.app, item, entry.digest, at) }];
      }),
    );
  return stampDocument({ ...document, tools: sealed(document.tools), items: sealed(document.items) }, options);
}

/** The same with a signature over all of it; its entries carry their seals already. */
export function stampDocument(
  document: BaselineDocument,
  { key, publicKey, level, at, hint }: SignOptions,
): BaselineDocument {
  const signed = { ...document, savedAt: at };
  return {
    ...signed,
    trust: {
      signed_blocks: [...BLOCKS],
      scope: 'partial',
      algorithm: 'Ed25519',
      trust_level: level,
      ...(hint !== undefined && { public_key_hint: hint }),
    },
    signature: {
      value: signBytes(null, signedBytes(signed), key).toString('base64'),
      created_at: at,
      public_key: pemOf(publicKey),
    },
  };
}

/** Throws why the signature does not hold. The key in the document is a hint and never the authority. Errors: `invalid_argument` (baseline). */
export function assertSigned(document: BaselineDocument, publicKey: KeyObject): void {
  const { trust, signature } = document;
  const SIGN = 'sign it with cortex baseline sign';
  if (trust === undefined || signature === undefined) throw refused('is not signed', SIGN);
  if (!BLOCKS.every((block) => trust.signed_blocks.includes(block))) throw refused('is signed only in part', SIGN);
  if (signature.public_key.trim() !== pemOf(publicKey).trim())
    throw refused('is signed with another key than the configured one', 'sign it with the private half of that one');
  if (!verify(null, signedBytes(document), publicKey, Buffer.from(signature.value, 'base64')))
    throw refused('was changed after it was signed', 'sign what you have reviewed');
  for (const [key, entry] of entriesOf(document)) {
    const item = { kind: kindOf(entry), name: entry.name };
    if (entry.seal === undefined || !isSealed(publicKey, entry.app, item, entry.digest, entry.seal))
      throw refused(`has no valid seal at ${JSON.stringify(key)}`, SIGN);
  }
}

/** The seal of an entry of a document that `assertSigned` let pass. */
export const sealOfEntry = ({ seal }: BaselineEntry): Seal => {
  if (seal === undefined) throw new Error('an entry without a seal was let pass');
  return seal;
};
