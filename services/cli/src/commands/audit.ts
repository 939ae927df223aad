import { AnchorKey } from '@cortex/audit/chain/anchor-key';
import { verifyChain, type Verdict } from '@cortex/audit/chain/verify';
import { adminUrl, asProvisioner, withAdmin, type Admin } from '../admin.js';
import { withEvidence } from '../audit-evidence.js';
import { CliError, EXIT } from '../exit.js';
import { homeOf } from '../home.js';
import { print, printJson, tell } from '../output.js';
import { handedSecrets } from './provision.js';

interface VerifyFlags {
  home?: string;
  json?: boolean;
  anchors?: string;
  key?: string[];
  secrets?: string;
}

/** Of a running home; with `--secrets`, of an installation by its servers, whose key is not told to whoever only provisions. */
async function withServers<T>(
  flags: VerifyFlags,
  work: (servers: Pick<Admin, 'bus' | 'adminUrl'>, ownKeys: readonly string[]) => Promise<T>,
): Promise<T> {
  if (flags.secrets === undefined)
    return withAdmin(homeOf(flags.home), (admin) =>
      work(admin, [new AnchorKey(admin.secrets.audit_anchor_key).publicKey]),
    );
  const secrets = handedSecrets(flags.secrets);
  const { CORTEX_NATS_URL: nats_url, CORTEX_DATABASE_URL: database_url } = process.env;
  if (!nats_url || !database_url)
    throw new CliError('CORTEX_NATS_URL and CORTEX_DATABASE_URL must name the servers of --secrets', EXIT.usage);
  if (flags.key === undefined)
    throw new CliError(
      '--key is missing; give the public key of CORTEX_AUDIT_ANCHOR_KEY, as anchors name it',
      EXIT.usage,
    );
  return asProvisioner(nats_url, secrets, ({ bus }) =>
    work({ bus, adminUrl: adminUrl({ database_url }, secrets, process.env) }, []),
  );
}

/** `cortex audit verify`: exit code 1 with the first record that was changed, removed or put in. */
export async function verify(flags: VerifyFlags): Promise<void> {
  const given = flags.key ?? [];
  for (const key of given) {
    if (Buffer.from(key, 'base64url').length !== 32)
      throw new CliError(`--key ${key} is no Ed25519 public key; give its 32 bytes in base64url`, EXIT.usage);
  }
  const verdict = await withServers(flags, (servers, own) => {
    const options = {
      keys: new Set([...own, ...given]),
      ...(flags.anchors !== undefined && { anchors: flags.anchors }),
    };
    return withEvidence(servers, options, verifyChain);
  });
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
