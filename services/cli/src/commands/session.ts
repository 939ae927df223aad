import { showControls } from '@cortex/contracts/text';
import { withAdmin, type Admin } from '../admin.js';
import { CliError, EXIT } from '../exit.js';
import { homeOf } from '../home.js';
import { print, printJson, since, table, tell } from '../output.js';
import { personOf, type PersonFlags } from '../people.js';
import { claudeLine, parseDuration, parseScopes } from '../token.js';

interface Flags {
  home?: string;
  json?: boolean;
}

export interface OpenFlags extends PersonFlags {
  /** False: of no workspace. */
  workspace: string | false;
  project?: string;
  channel?: string;
  scopes?: string;
  ttl: string;
}

export interface OpenedSession {
  session_id: string;
  workspace_id: string | null;
  project: string;
  channel: string;
  execution_id: string;
  groups: string[];
  scopes: string[];
  /** Asked for and needed by its tools, but not held by the person. */
  withheld: string[];
  token: string;
  expires_at: string;
}

interface Session extends Omit<OpenedSession, 'token' | 'expires_at' | 'withheld'> {
  status: 'open' | 'ended';
  trigger: string;
  person_id: string | null;
  started_at: string;
  ended_at: string | null;
  end_reason: string | null;
}

interface Message {
  message_id: string;
  at: string;
  origin: string;
  delivery: string;
  tag: string | null;
  text: string;
}

/** What `session open` and `token --workspace` do: a session of somebody, with its first token. */
export async function openFor(admin: Admin, flags: OpenFlags): Promise<OpenedSession> {
  const { workspace, project, channel, ttl, scopes } = flags;
  return admin.ask<OpenedSession>('cortex.cmd.session.open_session', {
    person_id: await personOf(admin, flags),
    scopes: parseScopes(scopes),
    workspace_id: workspace === false ? null : workspace,
    ...(project !== undefined && { project }),
    ...(channel !== undefined && { channel }),
    ttl_s: tokenLife(ttl),
  });
}

const MOST_S = 12 * 3_600;

function tokenLife(text: string): number {
  const seconds = parseDuration('--ttl', text);
  if (seconds <= MOST_S) return seconds;
  throw new CliError(
    '--ttl is over 12h; a token of a session lives at most that long, and `session token` gives another',
    EXIT.usage,
  );
}

export async function sessionOpen(flags: Flags & OpenFlags): Promise<void> {
  await withAdmin(homeOf(flags.home), async (admin) => {
    const opened = await openFor(admin, flags);
    const { endpoint } = admin.state;
    const claude = claudeLine('cortex-session', endpoint, opened.token);
    if (flags.json) return printJson({ ...opened, endpoint, claude });
    if (opened.withheld.length > 0)
      tell(`withheld, since the last token of the person did not have them: ${opened.withheld.join(' ')}`);
    print(
      table([
        ['session', opened.session_id],
        ['workspace', opened.workspace_id ?? 'none'],
        ['project', opened.project],
        ['channel', opened.channel],
        ['execution', opened.execution_id],
        ['groups', opened.groups.join(' ')],
        ['scopes', opened.scopes.join(' ') || 'none'],
        ['endpoint', endpoint],
        ['expires', opened.expires_at],
        ['token', opened.token],
      ]),
    );
    print(`\n  ${claude}\n`);
  });
}

export async function sessionList(
  flags: Flags & { workspace?: string; status: string; limit: string; cursor?: string },
): Promise<void> {
  const { workspace, status, cursor } = flags;
  const found = await withAdmin(homeOf(flags.home), ({ ask }) =>
    ask<{ sessions: (Session & { messages: number })[]; next_cursor: string | null }>('cortex.query.session.sessions', {
      ...(workspace !== undefined && { workspace_id: workspace }),
      status,
      limit: Number(flags.limit),
      ...(cursor !== undefined && { cursor }),
    }),
  );
  if (flags.json) return printJson(found);
  if (found.sessions.length === 0)
    return tell(`no session is ${status === 'all' ? 'there' : status}; open one with: cortex session open`);
  const head = ['session', 'workspace', 'project', 'channel', 'status', 'started', 'messages'];
  const rows = found.sessions.map((one) => [
    one.session_id,
    one.workspace_id ?? '-',
    showControls(one.project),
    showControls(one.channel),
    one.status,
    `${since(one.started_at)} ago`,
    String(one.messages),
  ]);
  print(table([head, ...rows]));
  if (found.next_cursor !== null) tell(`there are more: --cursor ${found.next_cursor}`);
}

export async function sessionShow(id: string, flags: Flags & { limit: string; cursor?: string }): Promise<void> {
  const { cursor } = flags;
  const shown = await withAdmin(homeOf(flags.home), ({ ask }) =>
    ask<{ session: Session; messages: Message[]; next_cursor: string | null }>('cortex.query.session.session', {
      session_id: id,
      limit: Number(flags.limit),
      ...(cursor !== undefined && { cursor }),
    }),
  );
  if (flags.json) return printJson(shown);
  const { session, messages, next_cursor } = shown;
  const ended = session.ended_at === null ? '' : ` ${session.ended_at} (${showControls(session.end_reason ?? '')})`;
  print(
    table([
      ['session', session.session_id],
      ['workspace', session.workspace_id ?? 'none'],
      ['project', showControls(session.project)],
      ['channel', showControls(session.channel)],
      ['status', `${session.status}${ended}`],
      ['started', `${session.started_at} by ${showControls(session.trigger)}`],
      ['person', session.person_id ?? 'none'],
      ['execution', session.execution_id ?? 'none'],
      ['groups', session.groups.join(' ')],
      ['scopes', session.scopes.join(' ') || 'none'],
    ]),
  );
  if (next_cursor !== null) print(`\nolder messages: --cursor ${next_cursor}`);
  if (messages.length === 0) print('\nno messages');
  for (const { at, origin, tag, text } of messages)
    print(`\n${at}  ${origin}${tag === null ? '' : `  ${showControls(tag)}`}\n${showControls(text)}`);
}

export async function sessionToken(id: string, flags: Flags & { ttl: string }): Promise<void> {
  const ttl_s = tokenLife(flags.ttl);
  const minted = await withAdmin(homeOf(flags.home), ({ ask }) =>
    ask<{ token: string; expires_at: string }>('cortex.cmd.session.issue_token', { session_id: id, ttl_s }),
  );
  if (flags.json) printJson(minted);
  else print(minted.token);
}

export async function sessionEnd(id: string, flags: Flags & { reason?: string }): Promise<void> {
  const { reason } = flags;
  const done = await withAdmin(homeOf(flags.home), ({ ask }) =>
    ask<{ session_id: string; ended: boolean }>('cortex.cmd.session.end_session', {
      session_id: id,
      ...(reason !== undefined && { reason }),
    }),
  );
  if (flags.json) printJson(done);
  else
    tell(done.ended ? `session ${id} has ended; its tokens are refused from now on` : `session ${id} had ended before`);
}
