import type { LoadMessage, LoadOrder, LoadResult } from './load.js';
import type { Visit } from './figures.js';
import { cpuSeconds, end, machineBusySeconds, residentMiB, startLoad } from './processes.js';
import type { Target } from './targets.js';

export interface Times {
  warmupMs: number;
  warmupCalls: number;
  measureMs: number;
}

/** One target in fresh processes under one number of connections. */
export async function visit(
  target: Target,
  connections: number,
  round: number,
  times: Times,
  signal?: AbortSignal,
): Promise<Visit> {
  await using running = await target.start();
  const { port, request, expect, plain } = running;
  const order: LoadOrder = { port, request, expect, connections, ...times, ...(plain && { plain }) };
  signal?.throwIfAborted();
  const load = startLoad();
  const stop = () => load.kill('SIGKILL');
  signal?.addEventListener('abort', stop);
  try {
    const pids = { server: running.server, load: load.pid ?? 0, ...running.helpers };
    const cpu = () => Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, cpuSeconds(pid)]));
    let before = { busy: 0, cpu: {} as Record<string, number> };
    let after = before;
    const result = await new Promise<LoadResult>((resolve, reject) => {
      load.on('message', (message: LoadMessage) => {
        if (message.at === 'begin') before = { busy: machineBusySeconds(), cpu: cpu() };
        else if (message.at === 'end') after = { busy: machineBusySeconds(), cpu: cpu() };
        else resolve(message.result);
      });
      load.once('exit', (code) => reject(signal?.reason ?? new Error(`the load program ended with code ${code}`)));
      load.send(order);
    });
    if (result.wrong !== undefined) throw new Error(`${target.name}: ${result.wrong}`);
    const resident_mib = residentMiB(running.server);
    await running.verify?.(result.answers);
    const used = Object.fromEntries(
      Object.keys(pids).map((name) => [name, (after.cpu[name] ?? 0) - (before.cpu[name] ?? 0)]),
    );
    const ours = Object.values(used).reduce((sum, seconds) => sum + seconds, 0);
    return {
      target: target.name,
      connections,
      round,
      requests_per_s: result.measured / result.seconds,
      p50_ms: result.p50_ms,
      p99_ms: result.p99_ms,
      cpu_us: ((used['server'] ?? 0) / result.measured) * 1e6,
      cores: Object.fromEntries(Object.entries(used).map(([name, seconds]) => [name, seconds / result.seconds])),
      resident_mib,
      foreign_cores: Math.max(0, after.busy - before.busy - ours) / result.seconds,
    };
  } finally {
    signal?.removeEventListener('abort', stop);
    await end(load);
  }
}
