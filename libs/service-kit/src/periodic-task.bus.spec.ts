import { eventually, natsFixture, startService } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { z } from 'zod';
import { PeriodicTask } from './periodic-task.js';
import type { ServiceHost } from './host.js';
import { defineService, HOST } from './service.js';

let turns: number;
let work: (turn: number, signal: AbortSignal) => Promise<'done' | void>;

@Injectable()
class Worker implements OnApplicationShutdown {
  readonly #task: PeriodicTask;
  constructor(@Inject(HOST) host: ServiceHost) {
    turns = 0;
    this.#task = new PeriodicTask(host, { name: 'sweep', everyMs: 5, work: (signal) => work(++turns, signal) });
  }
  onApplicationShutdown(): Promise<void> {
    return this.#task.stop();
  }
}
const service = defineService({ name: 'review', config: z.object({}), tools: [], providers: [Worker] });

it('comes again after a turn that failed, which the log tells, until one says that it is done', async () => {
  work = async (turn) => {
    if (turn === 1) throw new Error('no broom');
    return turn < 4 ? undefined : 'done';
  };
  await using app = await startService(service);
  await eventually(() => turns === 4);
  expect(app.log.filter((line) => line.includes('could not sweep; it is tried again'))).toHaveLength(1);
  await app.stop();
  expect(turns).toBe(4);
});

it('has one turn at a time, and tells the one under way to end when the service stops', async () => {
  let told = false;
  work = (_turn, signal) =>
    new Promise((resolve) => {
      signal.addEventListener('abort', () => {
        told = true;
        resolve();
      });
    });
  await using app = await startService(service);
  await eventually(() => turns === 1);
  await app.stop();
  expect([turns, told]).toEqual([1, true]);
});

it('has no turn before the service is ready, though the bus is there', async () => {
  work = async () => undefined;
  await using nats = await natsFixture({ services: [service], provision: false });
  await using app = await startService(service, { ready: false, nats });
  await eventually(() => app.host.bus.up && app.log.some((line) => /not ready: (?!NATS)/.test(line)));
  expect(turns).toBe(0);
});
