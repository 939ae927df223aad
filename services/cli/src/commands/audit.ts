import { verifyChain, type Verdict } from '@cortex/audit/chain/verify';
import { withAdmin } from '../admin.js';
import { withEvidence } from '../audit-evidence.js';
import { CliError, EXIT } from '../exit.js';
import { homeOf } from '../home.js';
import { print, printJson, tell } from '../output.js';

interface VerifyFlags {
  home?: string;
  json?: boolean;
  anchors?: string;
  key?: string[];
}

/** `cortex audit verify`: exit code 1 with the first record that was changed, removed or put in. */
export async function verify(flags: VerifyFlags): Promise<void> {
  const keys = flags.key ?? [];
  for (const key of keys) {
    if (Buffer.from(key, 'base64url').length !== 32)
      throw new CliError(`--key ${key} is no Ed25519 public key; give its 32 bytes in base64url`, EXIT.usage);
  }
  const verdict = await withAdmin(homeOf(flags.home), (admin) =>
    withEvidence(admin, { keys, ...(flags.anchors !== undefined && { anchors: flags.anchors }) }, verifyChain),
  );
  if (flags.json) printJson(verdict);
  else if (verdict.fault === null) for (const line of told(verdict)) print(line);
  if (verdict.fault === null) return;
  throw new CliError(`the audit trail does not hold: ${verdict.fault.text} (${verdict.fault.kind})`, EXIT.failed);
}

function told({ records, first_seq, last_seq, anchors, last_anchor, unproven }: Verdict): string[] {
  if (first_seq === null) return ['the audit trail is empty'];
  return [
    `the audit trail holds: ${records} records, ${first_seq} to ${last_seq}, are as they were hashed; ${anchors} anchors fit`,
    last_anchor === null
      ? 'no anchor is among them yet; the first is signed within seconds of the first record'
      : `the last anchor is of record ${last_anchor.seq}, ${last_anchor.at}; what came later is proven by the database alone`,
    ...(unproven > 0 ? [`${unproven} records are not hashed yet; look again in a moment`] : []),
  ];
}

/** `cortex audit purge`: what the cron route does. */
export async function purge(flags: { home?: string; json?: boolean }): Promise<void> {
  const purged = await withAdmin(homeOf(flags.home), ({ ask }) =>
    ask<{ deleted: number; retentionDays: number; cutoff: string }>('cortex.cmd.audit.purge', {}),
  );
  if (flags.json) return printJson(purged);
  tell(`${purged.deleted} rows from before ${purged.cutoff} are gone; ${purged.retentionDays} days are kept`);
}
