import { withAdmin } from '../admin.js';
import { homeOf } from '../home.js';
import { print, tell } from '../output.js';
import { makeToken, parseDuration } from '../token.js';
import { openFor } from './session.js';

interface Flags {
  home?: string;
  sub?: string;
  scopes?: string;
  ttl: string;
  workspace?: string;
}

/** Of a person; with a workspace that of an agent session which is opened there. */
export async function token(flags: Flags): Promise<void> {
  const { sub, scopes, ttl, workspace } = flags;
  const home = homeOf(flags.home);
  if (workspace === undefined)
    return print(makeToken(home, process.env, { sub, scopes, ttlSeconds: parseDuration('--ttl', ttl) }));
  const opened = await withAdmin(home, (admin) => openFor(admin, { sub, scopes, ttl, workspace }));
  tell(`session ${opened.session_id} was opened in ${workspace}; end it with: cortex session end ${opened.session_id}`);
  print(opened.token);
}
