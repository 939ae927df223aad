import { defineTool } from '@cortex/service-kit';
import { z } from 'zod';
import { workspaces } from '../projections/workspaces.projection.js';

/** Lists the workspaces that the caller belongs to: a person by membership, an agent by the workspace of its session. */
export const listWorkspaces = defineTool({
  name: 'list_workspaces',
  title: 'List workspaces',
  description:
    'Lists the workspaces that you belong to. Other tools take the id of one as workspace_id. Takes no arguments.',
  tier: 'read',
  actions: [],
  workspace: 'none',
  input: z.object({}),
  output: z.object({
    workspaces: z
      .array(
        z.object({
          id: z.string().describe('What other tools take as workspace_id'),
          name: z.string().describe('What people call it'),
          created_at: z.string().describe('ISO 8601'),
        }),
      )
      .describe('By name'),
    count: z.number().int().describe('How many these are'),
  }),
  async handle(_args, ctx) {
    const db = await ctx.read(workspaces);
    const mine = db.selectFrom('memberships').select('workspace').where('principal_id', '=', ctx.caller.id);
    const rows = await db
      .selectFrom('workspaces')
      .select(['id', 'name', 'created_at'])
      .where((eb) => eb.or([eb('id', 'in', mine), ...(ctx.workspace === null ? [] : [eb('id', '=', ctx.workspace)])]))
      .orderBy('name')
      .orderBy('id')
      .execute();
    return {
      workspaces: rows.map(({ id, name, created_at }) => ({ id, name, created_at: created_at.toISOString() })),
      count: rows.length,
    };
  },
});
