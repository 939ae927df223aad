import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '@cortex/testing';
import type { Answer, RunningCortex } from './running.js';

const CALLERS = 16;
/** A caller that was refused comes back after this long. */
const PAUSE_MS = 20;

export interface LoadCall {
  args: Record<string, unknown>;
  answer: Answer;
}

/** Sixteen callers that write files with texts of their own, one after the other, until `stop`. */
export class Load implements AsyncDisposable {
  readonly calls: LoadCall[] = [];
  #next = 0;
  #stopped = false;
  readonly #callers: Promise<void>[];

  constructor(
    private readonly cortex: RunningCortex,
    private readonly device: string,
    private readonly name: string,
  ) {
    this.#callers = Array.from({ length: CALLERS }, () => this.#caller());
  }

  async #caller(): Promise<void> {
    while (!this.#stopped) {
      const text = `${this.name}-${this.#next++}`;
      const args = { device: this.device, file_path: join(this.cortex.dir, text), content: text };
      const answer = await this.cortex.call('remote_write', args);
      this.calls.push({ args, answer });
      if (!answer.ok) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  get answered(): LoadCall[] {
    return this.calls.filter(({ answer }) => answer.ok);
  }

  /** Resolves when so many more have been answered. */
  async more(count: number, limitMs = 30_000): Promise<void> {
    const goal = this.answered.length + count;
    await eventually(() => this.answered.length >= goal, limitMs);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#callers);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** What was answered and has not exactly one end on record, and what was answered and is not on the disk. */
  async lost(): Promise<{ unrecorded: unknown[]; unwritten: unknown[] }> {
    const records = await this.cortex.records();
    const succeeded = (args: Record<string, unknown>): string[] =>
      this.cortex.endsOf(records, args).map(({ outcome }) => outcome);
    return {
      unrecorded: this.answered.filter(({ args }) => String(succeeded(args)) !== 'succeeded').map(({ args }) => args),
      unwritten: this.answered
        .filter(({ args }) => readFileSync(String(args['file_path']), 'utf8') !== args['content'])
        .map(({ args }) => args),
    };
  }
}
