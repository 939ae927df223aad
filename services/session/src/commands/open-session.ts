import { expandScopes } from '@cortex/auth';
import { Id, invalidArgument, sha256Hex } from '@cortex/contracts';
import { defineCommand, text, type ToolContext } from '@cortex/service-kit';
import { z } from 'zod';
import { SessionTokens, TOKEN_TTL_MAX_S, TOKEN_TTL_S } from '../keys/session-tokens.js';
import { CHANNEL_PREFIXES, groupsOf, neededScopes } from '../session/composition.js';
import { session } from '../session/session.decider.js';

/** Seconds that a token is to live. */
export const TokenTtl = z
  .number()
  .int('must be whole seconds; give 3600 for an hour')
  .min(1)
  .max(TOKEN_TTL_MAX_S)
  .default(TOKEN_TTL_S)
  .describe(`Seconds that the token lives, 1 to ${TOKEN_TTL_MAX_S}`);

/** `<platform>:<conversation>`. */
export const Channel = text({ max: 200, blank: false }).describe(`Begins with ${CHANNEL_PREFIXES.join(', ')}`);

/**
 * Starts a session for a person's own client and gives its first token. Asked again with the same key it gives the same
 * session and another token. Errors: `invalid_argument`.
 */
export const openSession = defineCommand({
  name: 'open_session',
  input: z.object({
    person_id: Id.describe('Whose session it is'),
    scopes: z.array(z.string()).describe('At most these stand in its tokens'),
    workspace_id: Id.nullable().optional().describe('Without one the tools of a workspace are not its own'),
    project: text({ max: 100, blank: false }).default('general'),
    channel: Channel.nullable().optional().describe('Where its messages go; default web:<session id>'),
    ttl_s: TokenTtl,
    client: text({ max: 50, blank: false }).default('cli').describe('By what it was opened'),
  }),
  async handle({ person_id, scopes, workspace_id, project, channel: given, ttl_s, client }, ctx) {
    const session_id = ctx.newId();
    const workspace = workspace_id ?? null;
    const channel = channelOf(given ?? `web:${session_id}`);
    const groups = groupsOf({ userStarted: true, channel });
    const granted = expandScopes(scopes);
    const start = {
      channel,
      project,
      backend: null,
      provider: null,
      model: null,
      thinking: null,
      mode: null,
      composition: 'direct',
      user_started: true,
      kind: 'direct' as const,
      parent_session_id: null,
      root_session_id: session_id,
      person_id,
      agent_id: null,
      groups,
      allowlist: null,
      scopes: neededScopes(groups, workspace).filter((scope) => granted.has(scope)),
      execution_id: executionId(ctx, session_id),
      trigger: client,
    };
    const scope = { session_id, project };
    await ctx.execute(session, session_id, { type: 'StartSession', session_id, start }, { workspace, scope });
    // What the log says and not what was asked: of the same call sent twice the first one counts.
    const { state } = await ctx.load(session, session_id, { workspace });
    const said = state.status === 'none' ? start : state.start;
    const minted = ctx
      .get(SessionTokens)
      .mint({ session_id, workspace, start: said, now: ctx.now(), ttl_s, jti: ctx.newId() });
    return {
      session_id,
      workspace_id: workspace,
      project: said.project,
      channel: said.channel,
      execution_id: said.execution_id,
      groups: said.groups,
      scopes: said.scopes,
      ...minted,
    };
  },
});

function channelOf(channel: string): string {
  if (CHANNEL_PREFIXES.some((prefix) => channel.startsWith(prefix) && channel.length > prefix.length)) return channel;
  throw invalidArgument(
    'channel',
    'names no conversation',
    `begin with one of ${CHANNEL_PREFIXES.join(', ')} and go on with its id`,
  );
}

/** `exec_<kind>_<time in base 36>_<4 characters>`. Source: agent-server, section 9. */
const executionId = (ctx: ToolContext, session_id: string): string =>
  `exec_local_${Date.parse(ctx.now()).toString(36)}_${sha256Hex(session_id).slice(0, 4)}`;
