import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, unwatchFile, watchFile, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { failedPrecondition, type CallScope, type Principal } from '@cortex/contracts';
import { DEVICE_NAME_PATTERN } from '@cortex/contracts/device-wire';
import { CONFIG, LOG } from '@cortex/service-kit';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Config } from '../config.js';

const Names = z.array(z.string().min(1));

/** One entry of `machines.json`. Source: agent-server, section 20.4. */
const Machine = z.strictObject({
  cortexPath: z.string().min(1),
  gpuCount: z.number().int().min(0),
  ssh: z
    .string()
    .regex(/^(?!-)[A-Za-z0-9._-]+@[A-Za-z0-9.:-]+$/, 'must be user@host')
    .optional(),
  win: z.boolean().optional(),
  clientCommand: z.string().min(1).optional(),
  /** Who reaches it: whoever stands in one of the lists; absent: whoever has the scope. */
  allow: z
    .strictObject({ subs: Names.optional(), projects: Names.optional(), workspaces: Names.optional() })
    .optional(),
  /** It is on another host and dials in from there. */
  remote: z.boolean().optional(),
  /** False: somebody starts and stops its client by hand. */
  launch: z.boolean().optional(),
});
export type Machine = z.output<typeof Machine>;

const Registry = z.record(z.string().regex(DEVICE_NAME_PATTERN, 'is no machine name'), Machine);

export interface Caller {
  caller: Principal;
  scope: CallScope;
  workspace: string | null;
}

/** `$CORTEX_HOME/config/machines.json`: read at start and at every change; a broken file leaves the last good one in force. */
@Injectable()
export class Machines implements OnApplicationShutdown {
  readonly #file: string;
  readonly #listeners = new Set<() => void>();
  #all: ReadonlyMap<string, Machine> = new Map();
  #text = '';

  constructor(
    @Inject(CONFIG) config: Config,
    @Inject(LOG) private readonly log: Logger,
  ) {
    this.#file = join(config.CORTEX_HOME, 'config', 'machines.json');
    this.refresh();
    // By polling: it also sees a folder that is made later, a rename over the file, and network file systems.
    watchFile(this.#file, { interval: 500, persistent: false }, () => this.refresh());
  }

  onApplicationShutdown(): void {
    unwatchFile(this.#file);
  }

  get(name: string): Machine | undefined {
    return this.#all.get(name);
  }

  all(): ReadonlyMap<string, Machine> {
    return this.#all;
  }

  /** The machine as this caller may know it: one that is not open to them does not exist. */
  for(name: string, who: Caller): Machine | undefined {
    const machine = this.#all.get(name);
    return machine !== undefined && mayReach(machine, who) ? machine : undefined;
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Adds a machine that somebody starts by hand; leaves one that is there as it is. True when it is new. */
  add(name: string, machine: Machine): boolean {
    this.refresh();
    if (this.#all.has(name)) return false;
    const before = this.#read();
    const current = before === null ? {} : parse(before);
    if (current === null) {
      throw failedPrecondition('machines.json', 'is broken', `correct ${this.#file} first`, {
        reason: 'invalid_state',
      });
    }
    this.#write({ ...current, [name]: machine });
    this.refresh();
    return true;
  }

  #write(registry: Record<string, Machine>): void {
    try {
      mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 });
      const fresh = `${this.#file}.${randomBytes(6).toString('hex')}`;
      writeFileSync(fresh, `${JSON.stringify(registry, null, 2)}\n`, { mode: 0o600 });
      renameSync(fresh, this.#file);
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      throw failedPrecondition(
        'machines.json',
        `cannot be written (${code})`,
        `add the machine to ${this.#file} yourself`,
        { cause },
      );
    }
  }

  /** Looks at the file now; otherwise a change is seen within half a second. */
  refresh(): void {
    const text = this.#read() ?? '{}';
    if (text === this.#text) return;
    this.#text = text;
    const registry = parse(text);
    if (registry === null) {
      this.log.error(
        { file: this.#file, problem: problemOf(text) },
        'machines.json is broken; the last good one stays in force',
      );
      return;
    }
    this.#all = new Map(Object.entries(registry));
    this.log.info({ machines: this.#all.size }, 'machines.json read');
    this.#listeners.forEach((listener) => listener());
  }

  #read(): string | null {
    try {
      return readFileSync(this.#file, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      this.log.error({ file: this.#file, code: (error as NodeJS.ErrnoException).code }, 'machines.json cannot be read');
      return this.#text === '' ? null : this.#text;
    }
  }
}

/** A machine that `cortex device run` adds: this host's user starts its client. */
export const startedByHand = (cortexPath = homedir()): Machine => ({ cortexPath, gpuCount: 0, launch: false });

export function mayReach({ allow }: Machine, { caller, scope, workspace }: Caller): boolean {
  if (allow === undefined) return true;
  const has = (names: readonly string[] | undefined, value: string | null | undefined): boolean =>
    value !== null && value !== undefined && names?.includes(value) === true;
  return (
    has(allow.subs, caller.id) ||
    has(allow.subs, scope.user_id) ||
    has(allow.projects, scope.project) ||
    has(allow.workspaces, workspace)
  );
}

function parse(text: string): Record<string, Machine> | null {
  try {
    return Registry.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

function problemOf(text: string): string {
  try {
    return z.prettifyError(Registry.safeParse(JSON.parse(text)).error!);
  } catch (error) {
    return (error as Error).message;
  }
}
