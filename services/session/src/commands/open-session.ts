import { expandScopes } from '@cortex/auth';
import { Id, sha256Hex } from '@cortex/contracts';
import { defineCommand, text, type ToolContext } from '@cortex/service-kit';
import { z } from 'zod';
import { SessionTokens } from '../keys/session-tokens.js';
import { isOwnScope } from '@cortex/contracts/scopes';
import { neededScopes } from '../session/composition.js';
import { assertMember, heldBy } from '../session/rights.js';
import { session } from '../session/session.decider.js';
import { openedStart } from '../session/start.js';
import { Channel, Project, TokenTtl } from './fields.js';

/**
 * Starts a session for a person's own client and gives its first token. Asked again with the same key it gives the same
 * session and another token. `withheld`: what its tools need and was asked for, and the person does not hold. Errors: `not_found` (workspace_id, person_id), `permission_denied` for who is no member.
 */
export const openSession = defineCommand({
  name: 'open_session',
  input: z.object({
    person_id: Id.describe('Whose session it is'),
    scopes: z.array(z.string()).describe('At most these stand in its tokens, and of these those that the person holds'),
    workspace_id: Id.nullable().optional().describe('Without one the tools of a workspace are not its own'),
    project: Project.default('general'),
    channel: Channel.nullable().optional().describe('Where its messages go; default web:<session id>'),
    ttl_s: TokenTtl,
    client: text({ max: 50, blank: false }).default('cli').describe('By what it was opened'),
  }),
  async handle({ person_id, scopes, workspace_id, project, channel, ttl_s, client }, ctx) {
    const session_id = ctx.newId();
    const asked = expandScopes(scopes);
    const workspace = workspace_id ?? null;
    const [held] = await Promise.all([
      heldBy(ctx, person_id, asked),
      workspace === null ? undefined : assertMember(ctx, workspace, person_id),
    ]);
    const start = openedStart({
      session_id,
      workspace,
      project,
      channel: channel ?? `web:${session_id}`,
      person_id,
      held,
      execution_id: executionId(ctx, session_id),
      trigger: client,
    });
    const scope = { session_id, project };
    await ctx.execute(session, session_id, { type: 'StartSession', session_id, start }, { workspace, scope });
    // What the log says and not what was asked: of the same call sent twice the first one counts.
    const { state } = await ctx.load(session, session_id, { workspace });
    const said = state.status === 'none' ? start : state.start;
    const token = { session_id, workspace, start: said, now: ctx.now(), ttl_s, jti: ctx.newId() };
    return {
      session_id,
      workspace_id: workspace,
      project: said.project,
      channel: said.channel,
      execution_id: said.execution_id,
      groups: said.groups,
      scopes: said.scopes,
      withheld: [...neededScopes(said.groups, workspace), ...[...asked].filter((scope) => !isOwnScope(scope))].filter(
        (scope) => asked.has(scope) && !said.scopes.includes(scope),
      ),
      ...ctx.get(SessionTokens).mint(token),
    };
  },
});

/** `exec_<kind>_<time in base 36>_<4 characters>`. Source: agent-server, section 9. */
const executionId = (ctx: ToolContext, session_id: string): string =>
  `exec_local_${Date.parse(ctx.now()).toString(36)}_${sha256Hex(session_id).slice(0, 4)}`;
