import { Id, NO_WORKSPACE } from '@cortex/contracts';
import { cursor, defineQuery, limit, page } from '@cortex/service-kit';
import { z } from 'zod';
import { rowsOf, settled } from '../session/find.js';

/** Sessions, newest first, of one workspace or of all and of none. */
export const sessionsQuery = defineQuery({
  name: 'sessions',
  input: z.object({
    workspace_id: Id.nullable().optional().describe('Left out: of all; null: of none'),
    status: z.enum(['open', 'ended', 'all']).default('open'),
    limit: limit(50),
    cursor: cursor(),
  }),
  async handle({ workspace_id, status, ...paging }, ctx) {
    await settled(ctx);
    let places = rowsOf(ctx, null).selectFrom('session_ids').select(['session_id', 'workspace', 'started_at']);
    if (workspace_id !== undefined) places = places.where('workspace', '=', workspace_id ?? NO_WORKSPACE);
    if (status !== 'all') places = places.where('ended_at', status === 'open' ? 'is' : 'is not', null);
    const { rows, next_cursor } = await page(places, paging, { order: [['started_at', 'desc']], id: 'session_id' });
    const found = await Promise.all(
      [...Map.groupBy(rows, ({ workspace }) => workspace)].map(([workspace, some]) =>
        rowsOf(ctx, workspace)
          .selectFrom('sessions')
          .selectAll('sessions')
          .select((eb) =>
            eb
              .selectFrom('messages')
              .select(eb.fn.countAll<string>().as('n'))
              .whereRef('messages.session_id', '=', 'sessions.session_id')
              .as('messages'),
          )
          .where(
            'session_id',
            'in',
            some.map(({ session_id }) => session_id),
          )
          .execute(),
      ),
    );
    const known = new Map(found.flat().map((row) => [row.session_id, row]));
    return {
      sessions: rows.flatMap(({ session_id }) => {
        const row = known.get(session_id);
        if (row === undefined) return [];
        const { workspace_id: workspace, started_at, ended_at, messages, ...rest } = row;
        return {
          ...rest,
          workspace_id: workspace === NO_WORKSPACE ? null : workspace,
          status: ended_at === null ? ('open' as const) : ('ended' as const),
          started_at: started_at.toISOString(),
          ended_at: ended_at?.toISOString() ?? null,
          messages: Number(messages),
        };
      }),
      next_cursor,
    };
  },
});
