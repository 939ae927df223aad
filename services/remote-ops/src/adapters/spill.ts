import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rm, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { hashedToken, isToken } from '@cortex/contracts';
import { charCount, firstChars } from '@cortex/contracts/text';
import { CONFIG, LOG } from '@cortex/service-kit';
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { Logger } from 'pino';
import type { Config } from '../config.js';

const PREVIEW_CHARS = 2_000;
const KEEP_MS = 7 * 24 * 60 * 60 * 1000;
const SWEEP_MS = 6 * 60 * 60 * 1000;
/** Bytes of one owner's files; beyond, texts are cut instead. */
const OWNER_BYTES = 1024 ** 3;

/** The four fields that every result has which may be too large to be shown. */
export interface Spilled {
  truncated: boolean;
  spill_path: string | null;
  total_chars: number;
  preview: string | null;
}

export interface Shown {
  fields: Spilled;
  /** The readable text: whole, or size, path and preview. */
  text: string;
  /** The whole text does not stand in the answer. */
  spilled: boolean;
}

/** Texts too large for an answer, kept in files of their owner for a week. Source: agent-server, section 7. */
@Injectable()
export class Spill implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #folder: string;
  /** Bytes per owner's folder; forgotten at every sweep, then counted again. */
  readonly #used = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    @Inject(CONFIG) config: Config,
    @Inject(LOG) private readonly log: Logger,
  ) {
    this.#folder = join(config.CORTEX_HOME, 'tmp', 'tool-results');
  }

  onApplicationBootstrap(): void {
    const sweep = (): void =>
      void this.#removeOld().catch((err: unknown) => this.log.warn({ err }, 'old spill files stay'));
    sweep();
    this.#timer = setInterval(sweep, SWEEP_MS);
    this.#timer.unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.#timer);
  }

  /**
   * `text` as it may be shown within `limit` characters. `owner` is the session or the person whom the file belongs to. A
   * file that cannot be written does not fail the call: the text is cut then.
   */
  async show(text: string, limit: number, tool: string, owner: string): Promise<Shown> {
    const total_chars = charCount(text);
    if (total_chars <= limit) {
      return { fields: { truncated: false, spill_path: null, total_chars, preview: null }, text, spilled: false };
    }
    const spill_path = await this.#write(text, tool, owner).catch((err: unknown) => {
      this.log.warn({ err, tool }, 'a result could not be spilled');
      return null;
    });
    if (spill_path === null) {
      const cut = `${firstChars(text, limit)}\n[cut: ${total_chars} characters, limit ${limit}]`;
      return { fields: { truncated: true, spill_path, total_chars, preview: null }, text: cut, spilled: false };
    }
    const preview = firstChars(text, PREVIEW_CHARS);
    const said = `The output is too large to be shown: ${total_chars} characters, limit ${limit}. It is in the file ${spill_path}. It begins:\n${preview}`;
    return { fields: { truncated: true, spill_path, total_chars, preview }, text: said, spilled: true };
  }

  async #write(text: string, tool: string, owner: string): Promise<string> {
    const folder = join(this.#folder, isToken(owner) ? owner : hashedToken(owner));
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const bytes = Buffer.byteLength(text);
    const used = this.#used.get(folder) ?? (await sizeOf(folder));
    if (used + bytes > OWNER_BYTES) throw new Error(`${folder} holds ${used} bytes already`);
    this.#used.set(folder, used + bytes);
    const path = join(folder, `${tool}-${Date.now()}-${randomBytes(4).toString('hex')}.txt`);
    const handle = await open(path, 'wx', 0o600);
    try {
      await handle.writeFile(text);
    } finally {
      await handle.close();
    }
    return path;
  }

  async #removeOld(): Promise<void> {
    this.#used.clear();
    const oldest = Date.now() - KEEP_MS;
    for (const owner of await namesIn(this.#folder)) {
      const folder = join(this.#folder, owner);
      for (const name of await namesIn(folder)) {
        const path = join(folder, name);
        const stats = await stat(path).catch(() => null);
        if (stats !== null && stats.mtimeMs < oldest) await rm(path, { force: true });
      }
      await rmdir(folder).catch(() => undefined); // stays while something is in it
    }
  }
}

async function sizeOf(folder: string): Promise<number> {
  const size = (name: string): Promise<number> =>
    stat(join(folder, name)).then(
      (stats) => stats.size,
      () => 0,
    );
  return (await Promise.all((await namesIn(folder)).map(size))).reduce((sum, bytes) => sum + bytes, 0);
}

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);
