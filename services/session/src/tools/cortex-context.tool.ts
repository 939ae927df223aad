import { failedPrecondition } from '@cortex/contracts';
import { defineTool } from '@cortex/service-kit';
import { z } from 'zod';
import { session } from '../session/session.decider.js';

/** Tells an agent where it runs, as its session was started. Events: none. Source: agent-server, section 13.3. */
export const cortexContext = defineTool({
  name: 'cortex_context',
  title: 'Show the context of this session',
  description:
    'Tells where you run: session, project, backend, model, thinking level and mode. Ask it before you name your project ' +
    'elsewhere. What is unknown is null. Safe to repeat.',
  tier: 'read',
  actions: [],
  workspace: 'none',
  session: true,
  group: 'cortex-ext',
  input: z.object({}),
  output: z.object({
    sessionId: z.string(),
    project: z.string(),
    backend: z.string().nullable(),
    model: z.string().nullable().describe('<provider>/<model> where the provider is known'),
    thinking: z.string().nullable(),
    mode: z.string().nullable(),
    board: z
      .object({ id: z.string(), title: z.string(), dir: z.string() })
      .nullable()
      .optional()
      .describe('Of a web session: its board, null when it has none'),
  }),
  async handle(_args, ctx) {
    const sessionId = ctx.scope.session_id ?? '';
    const { state } = await ctx.load(session, sessionId);
    if (state.status === 'none')
      throw failedPrecondition('session', 'is not known', 'open one with: cortex session open', {
        reason: 'no_session',
      });
    const { project, backend, provider, model, thinking, mode, channel } = state.start;
    return {
      sessionId,
      project,
      backend,
      model: model !== null && provider !== null ? `${provider}/${model}` : model,
      thinking,
      mode,
      ...(channel.startsWith('web:') && { board: null }),
    };
  },
});
