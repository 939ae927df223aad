import { request } from 'node:http';
import { CliError } from '../exit.js';
import { tailOf } from '../tail.js';
import type { KeptProcess } from './state.js';

export interface ReadyAnswer {
  ready: boolean;
  /** What is wrong, in words; empty when it is ready. */
  problem: string;
}

/** Asks a process whether it can work. One that does not answer in time is not ready. */
export async function askReady(ops: string, timeoutMs = 1_000): Promise<ReadyAnswer> {
  try {
    const { status, text } = await get(`${ops}/ready`, timeoutMs);
    return status === 200 ? { ready: true, problem: '' } : { ready: false, problem: problemOf(text) };
  } catch {
    return { ready: false, problem: 'does not answer yet' };
  }
}

/** Not `fetch`: the supervisor would keep its 10 MB for good. */
function get(url: string, timeoutMs: number): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    request(url, { signal: AbortSignal.timeout(timeoutMs), agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
      response.once('error', reject);
    })
      .once('error', reject)
      .end();
  });
}

/** Names the checks that are not content, whatever else the answer holds. */
function problemOf(text: string): string {
  try {
    const { checks } = JSON.parse(text) as { checks?: Record<string, { ok: boolean; problem?: string }> };
    const bad = Object.entries(checks ?? {}).filter(([, { ok }]) => !ok);
    if (bad.length > 0) return bad.map(([name, { problem }]) => `${name}: ${problem}`).join('; ');
  } catch {
    // an older or a foreign answer
  }
  return text.slice(0, 200);
}

export async function waitUntilReady(
  processes: readonly KeptProcess[],
  options: { limitMs: number; tell: (text: string) => void; died: () => KeptProcess | undefined; signal: AbortSignal },
): Promise<void> {
  const began = Date.now();
  let told = began;
  for (;;) {
    options.signal.throwIfAborted();
    const dead = options.died();
    if (dead !== undefined) throw new CliError(`${dead.name} ended while starting:\n${tailOf(dead.log, 15)}`);
    const answers = await Promise.all(
      processes.map(async ({ name, ops }) => ({ name, ...(await askReady(String(ops))) })),
    );
    const waiting = answers.filter(({ ready }) => !ready);
    if (waiting.length === 0) return;
    const text = waiting.map(({ name, problem }) => `${name}: ${problem}`).join('\n');
    if (Date.now() - began > options.limitMs) {
      throw new CliError(`not ready after ${options.limitMs / 1000} s:\n${text}\nsee cortex logs`);
    }
    if (Date.now() - told > 3_000) {
      options.tell(`still waiting for ${text.replaceAll('\n', ', ')}`);
      told = Date.now();
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
