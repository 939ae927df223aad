import type { Bus } from '@cortex/bus';
import { EVENTS_STREAM } from '@cortex/contracts';
import { BUS, defineQuery } from '@cortex/service-kit';
import { z } from 'zod';
import { workspaces as workspacesView } from '../projections/workspaces.projection.js';

/** Every workspace of the installation in the order of their names, for its operator: `{workspaces: [{id, name, created_at, members}]}`. */
export const workspaces = defineQuery({
  name: 'workspaces',
  input: z.object({}),
  async handle(_args, ctx) {
    // Whoever asks has often just made one, by a command of its own: up to what the log holds now.
    const last = await ctx.get<Bus>(BUS).direct.last(EVENTS_STREAM, workspacesView.subject);
    const db = await ctx.read(workspacesView, last?.seq);
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
