import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { isCortexError } from '@cortex/contracts';
import { showControls } from '@cortex/contracts/text';
import {
  assertSigned,
  type BaselineDocument,
  definitionOf,
  entriesOf,
  kindOf,
  readDocument,
  signDocument,
} from '@cortex/mcp-edge/federation/integrity/baseline-document';
import { difference } from '@cortex/mcp-edge/federation/integrity/difference';
import { keyOf } from '@cortex/mcp-edge/federation/integrity/seal';
import { CliError, EXIT } from '../exit.js';
import { operator, type OperatorFlags } from '../operator.js';
import { print, printJson, tell } from '../output.js';

/** `cortex baseline keygen`: a pair, in two files. The private one leaves this machine with whoever approves. */
export function keygen(flags: { out: string }): void {
  const pair = generateKeyPairSync('ed25519');
  const files = [
    [`${flags.out}-private.pem`, pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), 0o600],
    [`${flags.out}-public.pem`, pair.publicKey.export({ type: 'spki', format: 'pem' }).toString(), 0o644],
  ] as const;
  for (const [file, text, mode] of files) {
    try {
      writeFileSync(file, text, { mode, flag: 'wx' });
    } catch (error) {
      throw new CliError(`${file} cannot be written (${codeOf(error)}); no key is overwritten`, EXIT.failed);
    }
    tell(`wrote ${file}`);
  }
}

/** `cortex baseline proposal`: what backends declare now, to be reviewed and signed. */
export async function proposal(flags: OperatorFlags): Promise<void> {
  const document = await operator<BaselineDocument>(flags, 'GET', 'tool-integrity/proposal');
  printJson(document);
  const { length } = entriesOf(document);
  tell(length === 0 ? 'no backend has declared anything yet: there is nothing to sign' : `definitions: ${length}`);
}

/** `cortex baseline sign FILE`: the file itself, signed. */
export function sign(file: string, flags: { key: string; hint?: string }): void {
  const document = told(() => readDocument(jsonOf(file)));
  const key = told(() => keyOf('--key', textOf(flags.key), createPrivateKey));
  const at = new Date().toISOString();
  const publicKey = createPublicKey(key);
  const signed = signDocument(document, { key, publicKey, level: 'operator', at, hint: flags.hint });
  writeFileSync(`${file}.tmp`, `${JSON.stringify(signed, null, 2)}\n`, { mode: 0o600, flush: true });
  renameSync(`${file}.tmp`, file);
  tell(`signed ${entriesOf(signed).length} definitions in ${file}`);
}

/** `cortex baseline verify FILE`: whose it is and what is in it; with another baseline, what differs. */
export function verify(file: string, flags: { key: string; against?: string; json?: boolean }): void {
  const document = told(() => readDocument(jsonOf(file)));
  told(() => assertSigned(document, keyOf('--key', textOf(flags.key), createPublicKey)));
  const against = flags.against === undefined ? undefined : told(() => readDocument(jsonOf(flags.against ?? '')));
  const { trust, signature, tools, items, quarantine } = document;
  const summary = {
    signedAt: signature?.created_at,
    level: trust?.trust_level,
    blocks: trust?.signed_blocks,
    tools: Object.keys(tools).length,
    items: Object.keys(items).length,
    quarantine: Object.keys(quarantine).length,
  };
  const differences = against === undefined ? [] : differencesOf(against, document);
  if (flags.json) return printJson({ ...summary, differences });
  const { signedAt, level, blocks } = summary;
  print(`signed ${signedAt}, ${level}, covers ${blocks?.join(', ')}`);
  print(`${summary.tools} tools, ${summary.items} other items, ${summary.quarantine} of them were held back`);
  for (const { name, lines } of differences) {
    print(showControls(name));
    for (const line of lines) print(`  ${showControls(line)}`);
  }
}

/** `cortex baseline upload FILE`: in force from then on, in place of all that was approved. */
export async function upload(file: string, flags: OperatorFlags): Promise<void> {
  const adopted = await operator<{ adopted: number; quarantined: string[]; withheld?: string[] }>(
    flags,
    'PUT',
    'tool-integrity/baseline',
    jsonOf(file),
  );
  if (flags.json) return printJson(adopted);
  const held = [...adopted.quarantined, ...(adopted.withheld ?? []).map((backend) => `everything of ${backend}`)];
  tell(`${adopted.adopted} definitions are approved; held back: ${held.join(', ') || 'nothing'}`);
}

function differencesOf(before: BaselineDocument, after: BaselineDocument): { name: string; lines: string[] }[] {
  const [old, now] = [new Map(entriesOf(before)), new Map(entriesOf(after))];
  return [...new Set([...old.keys(), ...now.keys()])].sort().flatMap((name) => {
    const [was, is] = [old.get(name), now.get(name)];
    const entry = is ?? was;
    if (entry === undefined || was?.digest === is?.digest) return [];
    if (is === undefined) return [{ name, lines: ['is not in it any more'] }];
    const fields = difference(kindOf(entry), was && definitionOf(was).fields, definitionOf(is).fields);
    return [{ name, lines: fields.flatMap(({ field, lines }) => lines.map((line) => `${field}: ${line}`)) }];
  });
}

function told<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (isCortexError(error)) throw new CliError(error.message, EXIT.failed);
    throw error;
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CliError(`${file} cannot be read (${codeOf(error)})`, EXIT.failed);
  }
}

function jsonOf(file: string): unknown {
  try {
    return JSON.parse(textOf(file)) as unknown;
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`${file} is no JSON`, EXIT.failed);
  }
}

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : 'error');
