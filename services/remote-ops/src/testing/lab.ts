import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { RunningService } from '@cortex/testing';
import type { CallOptions } from '@cortex/testing/start-service';
import { startFleet, type Fleet } from './fleet.js';

export interface Block {
  type: string;
  text?: string;
  data?: string;
  mimeType?: string;
  resource?: { blob: string; mimeType: string; uri: string };
}

/** One service and one real client process, `lab`, for all tests of a file. */
export interface Lab extends AsyncDisposable {
  readonly app: RunningService;
  readonly fleet: Fleet;
  readonly device: string;
  /** Folder of the machine. */
  readonly dir: string;
  /** The service's own home. */
  readonly home: string;
  /** Writes a file below `dir`; its path. */
  put(name: string, content: string | Buffer): Promise<string>;
  /** The MCP content blocks of an answer. */
  blocks(tool: string, args: Record<string, unknown>, options?: CallOptions): Promise<Block[]>;
  /** A session of its own, so that no other test has seen its files. */
  newSession(): CallOptions;
  /** Events of the commands of a workspace, in order. */
  events(workspace: string): Promise<{ type: string; data: Record<string, unknown> }[]>;
}

export async function startLab(): Promise<Lab> {
  const device = 'lab';
  const fleet = await startFleet();
  await fleet.device(device);
  const { app, dir } = fleet;
  let sessions = 0;
  return {
    app,
    fleet,
    device,
    dir,
    home: app.host.config['CORTEX_HOME'] as string,
    async put(name, content) {
      const path = join(dir, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, content);
      return path;
    },
    async blocks(tool, args, options) {
      const { head, body } = await app.send(tool, { device, ...args }, options);
      if (!head.ok) throw new Error(head.error.message);
      return (JSON.parse(`{${body}}`) as { content: Block[] }).content;
    },
    newSession: () => ({ scope: { session_id: `session-${++sessions}` } }),
    async events(workspace) {
      const found: { type: string; data: Record<string, unknown> }[] = [];
      for (let seq = 1; ;) {
        const subject = `cortex.evt.remote-ops.${workspace}.command.*`;
        const message = await app.host.bus.direct.next('CORTEX_EVENTS', subject, seq);
        if (message === null) return found;
        found.push(...(JSON.parse(Buffer.from(message.data).toString()) as { events: typeof found }).events);
        seq = message.seq + 1;
      }
    },
    [Symbol.asyncDispose]: () => fleet[Symbol.asyncDispose](),
  };
}
