import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { BUCKETS, type BusUser, SERVICES } from '@cortex/contracts';
import type { Secrets } from '@cortex/service-kit';
import { eventually, tempDir } from '@cortex/testing';
import { type Answer, type EdgeFixture, startEdge } from '../testing/edge-fixture.js';

let edge: EdgeFixture;
let home: string;
beforeAll(async () => {
  home = await tempDir('reconnect');
  edge = await startEdge({ env: { CORTEX_HOME: home } });
});
afterAll(async () => edge[Symbol.asyncDispose]());

const lost = () => edge.app.log.filter((line) => line.includes('the bus went away')).length;

/** The file first, so that whoever is cut off knows the new password. */
async function rotate(user: BusUser): Promise<void> {
  const before = lost();
  const file = join(home, 'config', 'secrets.json');
  const secrets = JSON.parse(await readFile(file, 'utf8')) as Secrets;
  const password = `${user} ${before}`;
  secrets.bus[user as (typeof SERVICES)[number]] = password;
  await writeFile(`${file}.new`, JSON.stringify(secrets));
  await rename(`${file}.new`, file);
  await edge.nats.changePassword(user, password);
  await eventually(() => lost() > before);
}

const fault = ({ body, text }: Answer): string | undefined =>
  body?.result?.isError === true ? body.result.content[0].text : body?.result === undefined ? text : undefined;

it('no read and no call with a key is refused while passwords of the bus change one after the other', async () => {
  const refused: string[] = [];
  let calls = 0;
  let stop = false;
  const caller = async (name: number) => {
    for (let n = 0; !stop; n++) {
      const ask = { meta: { 'cortex/idempotencyKey': `${name}-${n}` } };
      const answers = [
        await edge.call('sample_echo', { text: 'again' }),
        await edge.call('sample_slow', { ms: 20 }, ask),
      ];
      calls += answers.length;
      refused.push(...answers.map(fault).filter((text) => text !== undefined));
    }
  };
  const callers = Promise.all(Array.from({ length: 12 }, (_, name) => caller(name)));
  for (const user of ['mcp-edge', 'ticket', 'mcp-edge', 'ticket'] as const) {
    const before = calls;
    await rotate(user);
    await eventually(() => calls > before + 200, 60_000);
  }
  stop = true;
  await callers;
  expect(refused).toEqual([]);
});

/** A replica of the service that takes calls and answers none. */
async function silentReplica() {
  const bus = await edge.nats.busAs('ticket');
  const taken: string[] = [];
  let tell = (): void => undefined;
  const take = ({ subject }: { subject: string }): void => {
    taken.push(subject);
    tell();
  };
  bus.subscribe('cortex.tool.ticket.*', take, { queue: 'ticket' });
  await bus.nc.flush();
  const took = (tool: string): boolean => taken.some((subject) => subject.endsWith(`.${tool}`));
  return {
    bus,
    /** The first call that came here, in a list, since a promise alone would be waited for; those before it were answered by the service. */
    async taken(tool: string, call: (n: number) => Promise<Answer>): Promise<Promise<Answer>[]> {
      for (let n = 0; ; n++) {
        const came = Promise.withResolvers<void>();
        tell = came.resolve;
        const made = call(n);
        await Promise.race([came.promise, made]);
        if (took(tool)) return [made];
      }
    },
  };
}

const keyed = (name: string) => ({ meta: { 'cortex/idempotencyKey': name } });

it('of two calls at a replica that died the read is asked again of another one, the write is not, with its key neither', async () => {
  const replica = await silentReplica();
  await replica.bus.kv(BUCKETS.nodes.name).put('ticket.dying', '{}');
  await eventually(() => edge.edge.catalog.instances.lives('ticket.dying'));
  const gone = new AbortController();
  const [write] = await replica.taken('sample_slow', (n) =>
    edge.call('sample_slow', { ms: 1 }, { signal: gone.signal, ...keyed(`dying ${n}`) }),
  );
  let ended = false;
  void write!.finally(() => (ended = true)).catch(() => undefined); // given up below
  const [read] = await replica.taken('sample_echo', () => edge.call('sample_echo', { text: 'again' }));
  await replica.bus.close();
  expect(fault(await read!)).toBeUndefined();
  expect([edge.edge.catalog.instances.lives('ticket.dying'), ended]).toEqual([false, false]);
  gone.abort();
});

it('a call whose second try comes to nobody says what is known of the first: nothing', async () => {
  const replica = await silentReplica();
  const [call] = await replica.taken('sample_slow', (n) => edge.call('sample_slow', { ms: 1 }, keyed(`away ${n}`)));
  // No service comes back by a password that nobody told it.
  const before = lost();
  await edge.nats.changePassword('ticket', 'told nobody');
  await eventually(() => lost() > before);
  await rotate('mcp-edge');
  expect(fault(await call!)).toContain('whether it took effect is unknown');
});
