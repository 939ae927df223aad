import { write } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Where the lines of the audit trail go, one JSON text each: standard output of the process, which has nothing else. */
export interface Lines {
  /** Without a line feed. Never waits and never fails: a line for which there is no room, since nobody reads, is dropped and counted. */
  write(line: string): void;
  readonly dropped: number;
  /** Resolves when what is held is written, or nobody takes it. */
  end(): Promise<void>;
}

/** Lines leave together, since a call of the system costs more than a line: when there are so many, or it is so late. */
const TOGETHER_BYTES = 64 * 1024;
const LATEST_MS = 250;
/** Held while the reader is slow. */
const MOST_BYTES = 16 * 1024 * 1024;
const AGAIN_MS = 10;
const END_MS = 2_000;

/**
 * Lines to a file descriptor. One buffer is filled while the other is being written: a stream, which puts strings together first, costs ten
 * times as much, and there is a line per call.
 */
export class LineWriter implements Lines {
  dropped = 0;
  #filling: Buffer = Buffer.allocUnsafe(2 * TOGETHER_BYTES);
  #filled = 0;
  #spare: Buffer | undefined;
  #leaving: Buffer | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly fd: number) {}

  write(line: string): void {
    // A UTF-16 unit takes three bytes at most.
    if (!this.#hasRoom(line.length * 3 + 1)) return void this.dropped++;
    this.#filled += this.#filling.write(line, this.#filled, 'utf8');
    this.#filling[this.#filled++] = 10;
    if (this.#filled >= TOGETHER_BYTES) this.#leave();
    else this.#timer ??= setTimeout(() => this.#leave(), LATEST_MS).unref();
  }

  async end(): Promise<void> {
    const until = performance.now() + END_MS;
    while (this.#filled > 0 || this.#leaving !== undefined) {
      this.#leave();
      if (performance.now() > until) return;
      await sleep(1);
    }
  }

  #hasRoom(bytes: number): boolean {
    const needed = this.#filled + bytes;
    if (needed <= this.#filling.length) return true;
    if (needed > MOST_BYTES) return false;
    const larger = Buffer.allocUnsafe(Math.min(MOST_BYTES, Math.max(needed, 2 * this.#filling.length)));
    this.#filling.copy(larger, 0, 0, this.#filled);
    this.#filling = larger;
    return true;
  }

  #leave(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // Comes again when that is out.
    if (this.#leaving !== undefined || this.#filled === 0) return;
    this.#leaving = this.#filling;
    const bytes = this.#filled;
    this.#filling = this.#spare ?? Buffer.allocUnsafe(2 * TOGETHER_BYTES);
    this.#spare = undefined;
    this.#filled = 0;
    this.#send(this.#leaving, 0, bytes);
  }

  #send(buffer: Buffer, from: number, to: number): void {
    write(this.fd, buffer, from, to - from, null, (error, bytes) => {
      if (error?.code === 'EAGAIN') return void setTimeout(() => this.#send(buffer, from, to), AGAIN_MS).unref();
      if (!error && from + bytes < to) return this.#send(buffer, from + bytes, to);
      // Whoever read is gone, or the disk is full.
      if (error) for (let at = from; at < to; at++) if (buffer[at] === 10) this.dropped++;
      this.#leaving = undefined;
      if (buffer.length === 2 * TOGETHER_BYTES) this.#spare = buffer;
      if (this.#filled > 0) this.#leave();
    });
  }
}
