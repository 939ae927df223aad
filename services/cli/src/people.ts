import type { Admin } from './admin.js';
import { CliError, EXIT } from './exit.js';
import { ownerSub } from './token.js';

/** Who is meant on a command line: a subject at an issuer, the owner of the home by default. */
export interface PersonFlags {
  sub?: string;
  issuer?: string;
}

/** The `per_` id of somebody, who need not have logged in yet. */
export async function personOf({ ask, state }: Admin, { sub, issuer }: PersonFlags): Promise<string> {
  const at = issuer ?? state.issuer ?? process.env['OAUTH_ISSUER'];
  if (at === undefined)
    throw new CliError(
      '--issuer is missing; name the issuer that the subject belongs to, as OAUTH_ISSUER has it',
      EXIT.usage,
    );
  // Only the development issuer of a home calls its owner by a name that we give.
  if (sub === undefined && state.issuer === null && !process.env['CORTEX_OWNER_SUB'])
    throw new CliError('--sub is missing; name a subject at the issuer, or set CORTEX_OWNER_SUB', EXIT.usage);
  const who = { issuer: at, sub: sub ?? ownerSub(process.env) };
  return (await ask<{ person_id: string }>('cortex.cmd.mcp-edge.register_person', who)).person_id;
}
