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

it('of two calls at a replica that died the read is asked again of another one, the write is not', async () => {
  const replica = await edge.nats.busAs('ticket');
  const taken: string[] = [];
  replica.subscribe('cortex.tool.ticket.*', (message) => void taken.push(message.subject), { queue: 'ticket' });
  await replica.kv(BUCKETS.nodes.name).put('ticket.dying', '{}');
  await eventually(() => edge.edge.catalog.instances.lives('ticket.dying'));
  const gone = new AbortController();
  let answered = 0;
  const untilTaken = async <T>(tool: string, call: () => Promise<T>): Promise<Promise<T>[]> => {
    const calls: Promise<T>[] = [];
    await eventually(() => {
      calls.push(call());
      return taken.includes(`cortex.tool.ticket.${tool}`);
    });
    return calls;
  };
  const writes = await untilTaken('sample_slow', () => {
    const call = edge.call('sample_slow', { ms: 1 }, { signal: gone.signal });
    void call.then(
      () => answered++,
      () => undefined,
    );
    return call;
  });
  const reads = await untilTaken('sample_echo', () => edge.call('sample_echo', { text: 'again' }));
  await replica.close();
  expect((await Promise.all(reads)).map(fault)).toEqual(reads.map(() => undefined));
  const lost = taken.filter((subject) => subject.endsWith('sample_slow')).length;
  expect([lost > 0, answered]).toEqual([true, writes.length - lost]);
  gone.abort();
});
