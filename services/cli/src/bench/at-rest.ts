import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@cortex/embedded/ports';
import { homeOf } from '../home.js';
import { runningState } from '../up/state.js';
import { proportionalMiB, readProc, treeOf } from './processes.js';

export interface AtRest {
  /** Sum over all processes of `up`, NATS and PostgreSQL among them; pages that several share are divided among them. */
  total_mib: number;
  processes: { name: string; pid: number; mib: number }[];
}

/** Long enough for the start's garbage to be collected or not: what an idle Cortex takes. */
const SETTLE_MS = 10_000;
const UP_MS = 120_000;

/** Starts a whole `up` in a fresh home and weighs it when it has nothing to do. */
export async function memoryAtRest(): Promise<AtRest> {
  const home = homeOf(await mkdtemp(join(tmpdir(), 'cortex-bench-')));
  const ports = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
  const [PORT, WEBHOOK_PORT, CORTEX_CLIENT_PORT, CORTEX_ISSUER_PORT] = ports.map(String);
  const env = { ...process.env, PORT, WEBHOOK_PORT, CORTEX_CLIENT_PORT, CORTEX_ISSUER_PORT };
  const main = fileURLToPath(new URL('../main.js', import.meta.url));
  const up = fork(main, ['up', '--home', home.dir], { env, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  const exited = once(up, 'exit');
  let said = '';
  up.stderr?.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-2_000)));
  try {
    for (const end = Date.now() + UP_MS; runningState(home)?.ready !== true;) {
      if (up.exitCode !== null || Date.now() > end) throw new Error(`up did not become ready; it said: ${said.trim()}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    return memoryOfTree(up.pid ?? 0);
  } finally {
    up.kill('SIGTERM');
    await exited;
    await rm(home.dir, { recursive: true, force: true });
  }
}

/** Memory of a process and of all that descend from it. */
export function memoryOfTree(root: number): AtRest {
  const processes = treeOf(root).flatMap((pid) => {
    const [program = '', ...args] = readProc(pid, 'cmdline').split('\0');
    // It may have ended since we looked.
    if (program === '') return [];
    const script = args.find((arg) => arg.endsWith('.js'));
    return [{ name: nameOf(program, script), pid, mib: proportionalMiB(pid) }];
  });
  return { total_mib: processes.reduce((sum, { mib }) => sum + mib, 0), processes };
}

/** `postgres: checkpointer` is a title that PostgreSQL gives itself. */
const nameOf = (program: string, script?: string): string =>
  basename(script ?? program.split(' ', 1)[0] ?? '').replace(/:$/, '');
