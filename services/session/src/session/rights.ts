import { expandScopes } from '@cortex/auth';
import { permissionDenied, subjects } from '@cortex/contracts';
import { isOwnScope } from '@cortex/contracts/scopes';
import type { ToolContext } from '@cortex/service-kit';

type Call = Pick<ToolContext, 'ask'>;

/** How long after a person last showed a valid token a session may still act at backends for them. */
const SHOWN_MS = 24 * 3_600_000;

/** Throws unless the workspace exists and the person belongs to it now. Errors: `not_found`, `permission_denied` (workspace_id). */
export async function assertMember(ctx: Call, workspace_id: string, person_id: string): Promise<void> {
  const { members } = await ctx.ask<{ members: { principal_id: string }[] }>(subjects.query('team', 'workspace'), {
    workspace_id,
  });
  if (members.some(({ principal_id }) => principal_id === person_id)) return;
  throw permissionDenied(
    'workspace_id',
    'is a workspace that the person does not belong to',
    'let the person in with: cortex workspace member',
    {
      reason: 'not_a_member',
    },
  );
}

/**
 * Of these scopes those that the person holds by the last token that was verified (threat T04); all of them for somebody who
 * has never shown one: then only whoever asks vouches for them. Scopes of backends need a token that was shown within a day, whoever
 * asks (gateway, section 10.10). Errors: `not_found` (person_id).
 */
export async function heldBy(
  ctx: Call & Pick<ToolContext, 'now'>,
  person_id: string,
  asked: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const person = await ctx.ask<{ scopes: string[]; last_seen_at: string | null }>(
    subjects.query('mcp-edge', 'person'),
    { person_id },
  );
  const { last_seen_at } = person;
  const held = last_seen_at === null ? asked : expandScopes(person.scopes);
  const shown = last_seen_at !== null && Date.parse(ctx.now()) - Date.parse(last_seen_at) < SHOWN_MS;
  return new Set([...asked].filter((scope) => held.has(scope) && (shown || isOwnScope(scope))));
}
