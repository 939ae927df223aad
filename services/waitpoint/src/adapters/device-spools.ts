import { randomUUID } from 'node:crypto';
import { ask, type Bus } from '@cortex/bus';
import { isCortexError, NO_WORKSPACE, subjects, type BusRequest } from '@cortex/contracts';
import { tenantDb } from '@cortex/eventstore';
import { HOST, type ServiceHost } from '@cortex/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import type { WaitpointDb } from '../projections/tables.js';
import { Signals } from './signals.js';
import { digestOf, readSignal } from './spool-file.js';

const READ = subjects.command('remote-ops', 'read_spool');
const REMOVE = subjects.command('remote-ops', 'remove_spool');
const DEVICE_MS = 30_000;
const AT_ONCE = 4;
/** Pages of one device and sweep. */
const MOST_PAGES = 20;
/** Bad files that are remembered, so that one that stays on its device is neither tried nor told again each time. */
const MOST_BAD = 2_000;

const Page = z.object({
  files: z.array(z.object({ name: z.string(), content: z.string().nullable() })),
  /** The last name that was looked at, if there are more. */
  next: z.string().nullable(),
});

/** `~/.cortex/tmp/signals` of the machines that armed waitpoints name. Source: agent-server, section 19.4. */
@Injectable()
export class DeviceSpools {
  readonly #bad = new Set<string>();

  constructor(
    @Inject(HOST) private readonly host: ServiceHost,
    private readonly signals: Signals,
  ) {}

  /** Visits every device; how many files were done with. One that is away is visited by a later sweep. */
  async takeIn(signal: AbortSignal): Promise<number> {
    const rows = await tenantDb<WaitpointDb>(this.host.pool, NO_WORKSPACE)
      .selectFrom('agenda')
      .select('device')
      .distinct()
      .where('state', '=', 'armed')
      .where('device', 'is not', null)
      .execute();
    const devices = rows.flatMap(({ device }) => device ?? []);
    let done = 0;
    const visit = async () => {
      for (let device = devices.pop(); device !== undefined; device = devices.pop())
        done += await this.#visit(device, signal);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, visit));
    return done;
  }

  async #visit(device: string, signal: AbortSignal): Promise<number> {
    let done = 0;
    try {
      let after: string | null = null;
      for (let page = 0; page < MOST_PAGES; page++) {
        const { files, next }: z.output<typeof Page> = Page.parse(await this.#ask(READ, { device, after }, signal));
        const finished: string[] = [];
        for (const { name, content } of files) if (await this.#take(device, name, content)) finished.push(name);
        // Applied first, then removed: a file that stays by mistake is known by its name.
        if (finished.length > 0) await this.#ask(REMOVE, { device, names: finished }, signal);
        done += finished.length;
        if (next === null) break;
        after = next;
      }
    } catch (error) {
      const away = isCortexError(error) && (error.kind === 'unavailable' || signal.aborted);
      this.host.log[away ? 'debug' : 'warn']({ err: error, device }, 'the signal spool of a device was not read');
    }
    return done;
  }

  /** True when the file is done with. */
  async #take(device: string, name: string, content: string | null): Promise<boolean> {
    const file = `${device}/${name}/${content === null ? '' : digestOf(content)}`;
    if (this.#bad.has(file)) return false;
    const signal = content === null ? null : readSignal(content);
    const { is } =
      signal === null
        ? { is: 'malformed' as const }
        : await this.signals.take({
            ...signal,
            source: `device:${device}`,
            dedupe_key: `spool:${device}:${name}`,
          });
    if (is === 'accepted' || is === 'gone' || is === 'unknown') return true;
    if (is === 'too_many_misses') return false;
    if (this.#bad.size >= MOST_BAD) this.#bad.clear();
    this.#bad.add(file);
    this.host.log.warn({ device, file: name, problem: is }, 'a signal file stays on its device');
    return false;
  }

  async #ask(subject: string, args: Record<string, unknown>, signal: AbortSignal): Promise<unknown> {
    const bus: Bus = this.host.bus;
    const request: BusRequest = {
      v: 1,
      call_id: randomUUID(),
      workspace_id: null,
      principal: { type: 'system', id: 'waitpoint', roles: [] },
      scope: {},
      args,
      deadline_ms: DEVICE_MS,
    };
    const { data } = await ask(bus, subject, request, signal);
    return data;
  }
}
