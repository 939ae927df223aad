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
  bus.subscribe('cortex.tool.ticket.*', ({ subject }) => void taken.push(subject), { queue: 'ticket' });
  return {
    bus,
    took: (tool: string): number => taken.filter((subject) => subject.endsWith(`.${tool}`)).length,
    /** Calls until one of them has come here. */
    async untilTaken(tool: string, call: (n: number) => Promise<Answer>): Promise<Promise<Answer>[]> {
      const calls: Promise<Answer>[] = [];
      await eventually(() => {
        const made = call(calls.length);
        made.catch(() => undefined); // of one that is given up at the end
        calls.push(made);
        return this.took(tool) > 0;
      });
      return calls;
    },
  };
}

const keyed = (name: string) => ({ meta: { 'cortex/idempotencyKey': name } });

it('of two calls at a replica that died the read is asked again of another one, the write is not, with its key neither', async () => {
  const replica = await silentReplica();
  await replica.bus.kv(BUCKETS.nodes.name).put('ticket.dying', '{}');
  await eventually(() => edge.edge.catalog.instances.lives('ticket.dying'));
  const gone = new AbortController();
  const writes = await replica.untilTaken('sample_slow', (n) =>
    edge.call('sample_slow', { ms: 1 }, { signal: gone.signal, ...keyed(`dying ${n}`) }),
  );
  let answered = 0;
  for (const write of writes)
    void write.then(
      () => answered++,
      () => undefined,
    );
  const reads = await replica.untilTaken('sample_echo', () => edge.call('sample_echo', { text: 'again' }));
  await replica.bus.close();
  expect((await Promise.all(reads)).map(fault)).toEqual(reads.map(() => undefined));
  const lost = replica.took('sample_slow');
  await eventually(() => answered === writes.length - lost);
  expect(edge.edge.catalog.instances.lives('ticket.dying')).toBe(false);
  gone.abort();
});

it('a call whose second try comes to nobody says what is known of the first: nothing', async () => {
  const replica = await silentReplica();
  const calls = await replica.untilTaken('sample_slow', (n) => edge.call('sample_slow', { ms: 1 }, keyed(`away ${n}`)));
  // No service comes back by a password that nobody told it.
  const before = lost();
  await edge.nats.changePassword('ticket', 'told nobody');
  await eventually(() => lost() > before);
  await rotate('mcp-edge');
  const faults = (await Promise.all(calls)).map(fault).filter((text) => text !== undefined);
  expect(faults).toEqual(faults.map(() => expect.stringContaining('whether it took effect is unknown')));
  expect(faults).toHaveLength(replica.took('sample_slow'));
});
