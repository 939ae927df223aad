import { defineQuery } from '@cortex/service-kit';
import { z } from 'zod';
import { workspaces as workspacesView } from '../projections/workspaces.projection.js';

/** Every workspace of the installation in the order of their names, for its operator: `{workspaces: [{id, name, created_at, members}]}`. */
export const workspaces = defineQuery({
  name: 'workspaces',
  input: z.object({}),
  async handle(_args, ctx) {
    const db = await ctx.read(workspacesView);
    const rows = await db
      .selectFrom('workspaces as w')
      .leftJoin('memberships as m', 'm.workspace', 'w.id')
      .groupBy('w.id')
      .select(({ fn }) => ['w.id', 'w.name', 'w.created_at', fn.count<string>('m.principal_id').as('members')])
      .orderBy('w.name')
      .orderBy('w.id')
      .execute();
    return {
      workspaces: rows.map(({ id, name, created_at, members }) => ({
        id,
        name,
        created_at: created_at.toISOString(),
        members: Number(members),
      })),
    };
  },
});
