import type { CommitEnvelope } from '@cortex/contracts';
import { startService, type RunningService } from '@cortex/testing';
import type { StartOptions } from '@cortex/testing/start-service';
import { tempDir } from '@cortex/testing/temp-dir';
import { waitCheck } from '../tools/wait-check.tool.js';
import { waitCreate } from '../tools/wait-create.tool.js';
import type { View } from '../tools/view.js';
import { WaitpointModule } from '../waitpoint.module.js';
import { asSession, signalOf, type SignalAnswer } from './session.js';
import { sessionStandIn } from './session-stand-in.js';

type Args = Parameters<(typeof waitCreate)['handle']>[0];

/** The service with a session service beside it, and what tests ask of both. */
export interface Waiting extends AsyncDisposable {
  app: RunningService;
  session: ReturnType<typeof sessionStandIn>;
  home: string;
  arm(more?: Partial<Args>, session?: string): Promise<{ id: string; secret: string }>;
  signal(body: Record<string, unknown>): Promise<SignalAnswer>;
  view(id: string, session?: string): Promise<View>;
  /** Its events, in order. */
  events(id: string, workspace?: string): Promise<CommitEnvelope['events']>;
}

/** Without a sweep of its own unless the test says otherwise: tests sweep when they want to. */
export async function startWaiting(options: StartOptions = {}): Promise<Waiting> {
  const session = sessionStandIn();
  const home = options.env?.['CORTEX_HOME'] ?? (await tempDir('waitpoint'));
  const app = await startService(WaitpointModule, {
    beside: [session.service],
    ...options,
    env: { CORTEX_WAITPOINT_SWEEP_MS: '0', CORTEX_HOME: home, ...options.env },
  });
  return {
    app,
    session,
    home,
    arm: (more = {}, by = 's1') =>
      app.call(waitCreate, { label: 'train arm2', intent: 'compare the loss', ...more } as Args, asSession(by)),
    signal: signalOf(app),
    async view(id, by = 's1') {
      const { waitpoint } = await app.call(waitCheck, { id }, asSession(by));
      return waitpoint!;
    },
    async events(id, workspace = 'w1') {
      const found: CommitEnvelope['events'] = [];
      for (let seq = 1; ;) {
        const subject = `cortex.evt.waitpoint.${workspace}.waitpoint.${id}`;
        const message = await app.host.bus.direct.next('CORTEX_EVENTS', subject, seq);
        if (message === null) return found;
        found.push(...(JSON.parse(Buffer.from(message.data).toString()) as CommitEnvelope).events);
        seq = message.seq + 1;
      }
    },
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  };
}
