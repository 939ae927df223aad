import { constants } from 'node:fs';
import { mkdir, open, readdir, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { CONFIG, LOG } from '@cortex/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import type { Config } from '../config.js';
import { Signals, type Outcome } from './signals.js';
import { MOST_BYTES, readSignal } from './spool-file.js';

/** Files of one sweep; the others wait for the next one. */
const MOST_FILES = 1_000;

/** `$CORTEX_HOME/tmp/signals`: whoever can write a file there can signal. Source: agent-server, section 19.3. */
@Injectable()
export class LocalSpool {
  readonly #folder: string;

  constructor(
    @Inject(CONFIG) config: Config,
    @Inject(LOG) private readonly log: Logger,
    private readonly signals: Signals,
  ) {
    this.#folder = join(config.CORTEX_HOME, 'tmp', 'signals');
  }

  /** Takes in what lies there; how many were done with. Errors: `unavailable`, and then the rest waits where it is. */
  async takeIn(signal: AbortSignal): Promise<number> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const names = (await readdir(this.#folder)).filter((name) => name.endsWith('.json')).sort();
    let done = 0;
    for (const name of names.slice(0, MOST_FILES)) if (!signal.aborted && (await this.#take(name))) done++;
    return done;
  }

  async #take(name: string): Promise<boolean> {
    const path = join(this.#folder, name);
    const text = await readSmall(path);
    if (text === null) return false; // somebody else was first
    const signal = 'problem' in text ? null : readSignal(text.content);
    if (signal === null) return this.#park(name, 'problem' in text ? text.problem : 'no JSON object');
    const outcome = await this.signals.take({ ...signal, source: 'spool', dedupe_key: `spool:${name}` });
    const { is } = outcome;
    if (is === 'too_many_misses') return false;
    if (is !== 'accepted' && is !== 'gone') return this.#park(name, PROBLEMS[is]);
    // One that cannot be deleted is known by its name when it is met again.
    await unlink(path).catch((error: unknown) => this.log.warn({ err: error, file: name }, 'a spool file stays'));
    return true;
  }

  async #park(name: string, problem: string): Promise<boolean> {
    const bad = join(this.#folder, 'bad');
    try {
      await mkdir(bad, { recursive: true, mode: 0o700 });
      // The end of a name tells more than its beginning, and all of it might be too long with the time in front.
      await rename(join(this.#folder, name), join(bad, `${Date.now()}-${name.slice(-200)}`));
      this.log.warn({ file: name, problem }, 'a spool file was put aside');
      return true;
    } catch (error) {
      this.log.warn({ err: error, file: name, problem }, 'a bad spool file cannot be put aside');
      return false;
    }
  }
}

const PROBLEMS: Record<Exclude<Outcome['is'], 'accepted' | 'gone' | 'too_many_misses'>, string> = {
  unknown: 'unknown id',
  wrong_secret: 'wrong secret',
  too_many_signals: 'too many signals of this waitpoint that count for nothing',
};

/** Of a plain file and no more than may be in it: no link is followed, and a pipe is not waited for. Null: it is gone. */
async function readSmall(path: string): Promise<{ content: string } | { problem: string } | null> {
  let file;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? null : { problem: code === 'ELOOP' ? 'a link' : `cannot be opened (${code})` };
  }
  try {
    const stat = await file.stat();
    if (!stat.isFile()) return { problem: 'no plain file' };
    const buffer = Buffer.alloc(MOST_BYTES + 1);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    if (bytesRead > MOST_BYTES) return { problem: `over ${MOST_BYTES} bytes` };
    return { content: buffer.toString('utf8', 0, bytesRead) };
  } finally {
    await file.close();
  }
}
