import { readFileSync } from 'node:fs';
import type { Block } from '@cortex/audit/chain/links';
import type { Evidence } from '@cortex/audit/chain/verify';
import { CALLS_STREAM } from '@cortex/contracts';
import type { Anchor } from '@cortex/contracts/chain';
import { connectAdmin } from '@cortex/eventstore/connect-admin';
import type { Client } from 'pg';
import type { Admin } from './admin.js';
import { anchorMessages } from './anchors.js';
import { endsOf, keptOf, readLog } from './events/reader.js';
import { CliError, EXIT } from './exit.js';

const DAY_MS = 86_400_000;
/** An anchor may be that much younger than its records, where the service was away when they came. */
const LATE_MS = 7 * DAY_MS;
const BLOCKS = 500;

export interface EvidenceOptions {
  /** File with lines of the audit trail as a collector kept them; its anchors count beside those of the log. */
  anchors?: string;
  /** Public keys that anchors may be signed with, base64url. */
  keys: ReadonlySet<string>;
}

/** What the bus and the database say, read with the provisioning identity: the audit service is not asked. */
export async function withEvidence<T>(
  { bus, adminUrl }: Pick<Admin, 'bus' | 'adminUrl'>,
  options: EvidenceOptions,
  work: (evidence: Evidence) => Promise<T>,
): Promise<T> {
  const collected = options.anchors === undefined ? [] : anchorsIn(options.anchors);
  const database = await connectAdmin(adminUrl);
  try {
    const { ms: keptMs } = await keptOf(bus, CALLS_STREAM);
    const since = Date.now() - keptMs + Math.min(LATE_MS, keptMs / 2);
    return await work({
      records: readLog(bus, await endsOf(bus), { subject: 'cortex.call.>' }),
      blocks: blocksOf(database),
      anchors: [...(await anchorsOf(bus)), ...collected],
      keys: options.keys,
      firstSeq: async () => (await keptOf(bus, CALLS_STREAM)).first_seq,
      keptSince: new Date(Number.isFinite(since) ? since : 0),
    });
  } finally {
    await database.end();
  }
}

async function* blocksOf(database: Client): AsyncGenerator<Block> {
  for (let after = 0; ;) {
    const { rows } = await database.query<{ first_seq: string; last_seq: string; hashes: Buffer }>(
      'select first_seq, last_seq, hashes from audit.call_chain where first_seq > $1 order by first_seq limit $2',
      [after, BLOCKS],
    );
    for (const { first_seq, last_seq, hashes } of rows)
      yield { first_seq: Number(first_seq), last_seq: Number(last_seq), hashes };
    if (rows.length < BLOCKS) return;
    after = Number(rows.at(-1)?.first_seq);
  }
}

async function anchorsOf(bus: Admin['bus']): Promise<Anchor[]> {
  const found: Anchor[] = [];
  for await (const { anchors } of anchorMessages(bus)) found.push(...anchors);
  return found;
}

function anchorsIn(file: string): Anchor[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new CliError(`--anchors ${file} cannot be read (${(error as Error).message})`, EXIT.usage);
  }
  const found = text.split('\n').flatMap((line): Anchor[] => {
    if (!line.includes('cortex_audit_anchor')) return [];
    try {
      const { _type, ...anchor } = JSON.parse(line) as Anchor & { _type: unknown };
      return _type === 'cortex_audit_anchor' && Number.isSafeInteger(anchor.seq) ? [anchor] : [];
    } catch {
      return [];
    }
  });
  if (found.length > 0) return found;
  throw new CliError(`--anchors ${file} has no line with "_type":"cortex_audit_anchor"`, EXIT.usage);
}
