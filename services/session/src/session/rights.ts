import { expandScopes } from '@cortex/auth';
import { permissionDenied, subjects } from '@cortex/contracts';
import type { ToolContext } from '@cortex/service-kit';

type Call = Pick<ToolContext, 'ask'>;

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
 * has never shown one: then only whoever asks vouches for them. Errors: `not_found` (person_id).
 */
export async function heldBy(ctx: Call, person_id: string, asked: ReadonlySet<string>): Promise<ReadonlySet<string>> {
  const person = await ctx.ask<{ scopes: string[]; last_seen_at: string | null }>(
    subjects.query('mcp-edge', 'person'),
    { person_id },
  );
  if (person.last_seen_at === null) return asked;
  const held = expandScopes(person.scopes);
  return new Set([...asked].filter((scope) => held.has(scope)));
}
