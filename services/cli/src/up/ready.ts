import { request } from 'node:http';
import { connect } from 'node:net';
import { CliError } from '../exit.js';
import { tailOf } from '../tail.js';
import { isAlive } from '../identity.js';
import type { KeptProcess } from './state.js';

const ANSWER_MS = 1_000;

export interface ReadyAnswer {
  ready: boolean;
  /** What is wrong, in words; empty when it is ready. */
  problem: string;
}

/** Asks what `up` keeps alive: a service whether it can work, bus and database whether they answer at all. */
export async function askProcess(process: KeptProcess): Promise<ReadyAnswer> {
  if (!isAlive(process)) return { ready: false, problem: 'ended' };
  const { kind, ops, port } = process;
  if (ops !== undefined) return askReady(ops);
  const answers = port === undefined || (await answersAt(port, GREETINGS[kind]));
  return answers ? { ready: true, problem: '' } : { ready: false, problem: 'does not answer' };
}

/**
 * What makes a server speak that asks for no password: NATS begins by itself, PostgreSQL answers a request for TLS (length and code of
 * `SSLRequest`) by one letter.
 */
const GREETINGS: Partial<Record<KeptProcess['kind'], Uint8Array>> = {
  postgres: Uint8Array.of(0, 0, 0, 8, 4, 210, 22, 47),
};

/** Whether anything comes back. That a connection is taken says nothing: the kernel does that for a process that hangs, too. */
function answersAt(port: number, greeting?: Uint8Array): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (answers: boolean) => {
      socket.destroy();
      resolve(answers);
    };
    socket.setTimeout(ANSWER_MS, () => end(false));
    socket.once('error', () => end(false)).once('close', () => end(false));
    socket.once('data', () => end(true));
    if (greeting !== undefined) socket.write(greeting);
  });
}

/** Asks a process whether it can work. One that does not answer in time is not ready. */
export async function askReady(ops: string, timeoutMs = ANSWER_MS): Promise<ReadyAnswer> {
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
