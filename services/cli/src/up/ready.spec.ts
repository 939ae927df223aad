import { join } from 'node:path';
import type { Running } from '@cortex/embedded/child';
import { startNats } from '@cortex/embedded/nats';
import { initPostgres, startPostgres } from '@cortex/embedded/postgres';
import { eventually } from '@cortex/testing/eventually';
import { tempDir } from '@cortex/testing/temp-dir';
import { expect, it } from '@jest/globals';
import { identityOf } from '../identity.js';
import { askProcess } from './ready.js';
import type { KeptProcess } from './state.js';

const servers = {
  async nats() {
    return startNats({ dir: await tempDir('ready-nats'), port: 0 });
  },
  async postgres() {
    const dir = join(await tempDir('ready-postgres'), 'data');
    await initPostgres(dir, 'secret');
    return startPostgres({ dir });
  },
};

it.each(['nats', 'postgres'] as const)(
  '%s is ready while it answers, and not because its process lives',
  async (kind) => {
    const server: Running = await servers[kind]();
    const since = new Date().toISOString();
    const kept: KeptProcess = {
      name: kind,
      kind,
      ...identityOf(server.pid),
      since,
      restarts: 0,
      port: server.port,
      log: '',
    };
    try {
      await eventually(async () => (await askProcess(kept)).ready);
      process.kill(server.pid, 'SIGSTOP');
      expect(await askProcess(kept)).toEqual({ ready: false, problem: 'does not answer' });
      process.kill(server.pid, 'SIGCONT');
      await eventually(async () => (await askProcess(kept)).ready);
    } finally {
      await server.kill();
    }
    expect(await askProcess(kept)).toEqual({ ready: false, problem: 'ended' });
  },
);
