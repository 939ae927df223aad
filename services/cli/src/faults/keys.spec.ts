import { BUCKETS, type CommitEnvelope, hashedToken } from '@cortex/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { callerHash, callerKey } from '@cortex/auth';
import { eventually } from '@cortex/testing';
import { endsOf, readLog } from '../events/reader.js';
import { withAdmin } from '../admin.js';
import { openFor, type OpenedSession } from '../commands/session.js';
import { personOf } from '../people.js';
import { makeToken } from '../token.js';
import { isAlive } from '../identity.js';
import { RunningCortex, type Answer } from './running.js';

// One process per service, so that each can be killed alone; in the workspace `default`, where its owner may write.
const WORKSPACE = 'default';
let cortex: RunningCortex;
let agent: OpenedSession;
let colleague: string;
beforeAll(async () => {
  cortex = await RunningCortex.start({ each: true });
  const sub = 'colleague';
  colleague = makeToken(cortex.home, {}, { sub, scopes: 'mcp:cortex:read mcp:cortex:write' });
  await cortex.call('list_workspaces', {}); // the owner is seen with the scopes that the session may have
  agent = await withAdmin(cortex.home, async (admin) => {
    const principal_id = await personOf(admin, { sub });
    await admin.ask('cortex.cmd.team.set_member', { workspace_id: WORKSPACE, principal_id, role: 'member' });
    return openFor(admin, { workspace: WORKSPACE, ttl: '1h' });
  });
});
afterAll(async () => cortex[Symbol.asyncDispose]());

const create = (title: string, given: Parameters<RunningCortex['call']>[2]): Promise<Answer> =>
  cortex.call('create_ticket', { workspace_id: WORKSPACE, title }, given);
/** Ids of the tickets that were made with this title: by the log itself, which no view is behind of. */
async function ticketsOf(title: string): Promise<string[]> {
  const subject = `cortex.evt.ticket.${WORKSPACE}.ticket.*`;
  return withAdmin(cortex.home, async ({ bus }) => {
    const made: string[] = [];
    for await (const { subject: at, data } of readLog(bus, await endsOf(bus), { subject })) {
      const { events } = JSON.parse(Buffer.from(data).toString()) as CommitEnvelope;
      const created = events.filter((event) => event.type === 'TicketCreated');
      if (created.some((event) => (event.data as { title: string }).title === title)) made.push(at.split('.').at(-1)!);
    }
    return made.toSorted();
  });
}
const idOf = ({ structured }: Answer): string => String(structured?.['ticket_id']);
/** Sends the same until it has an answer that is no passing one. */
async function settled(send: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await send();
    if (answer.status !== 0 && answer.kind !== 'unavailable') return answer;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
const mismatch = { ok: false, kind: 'conflict' };

async function upAgain(): Promise<void> {
  const { code, stderr } = await cortex.up();
  if (code !== 0) throw new Error(stderr);
}
/** Every process of this Cortex at once, as when the machine is switched off. */
async function killAll(): Promise<void> {
  const { supervisor, processes } = cortex.state;
  for (const { pid } of [supervisor, ...processes]) process.kill(pid, 'SIGKILL');
  await eventually(() => ![supervisor, ...processes].some(isAlive));
  await upAgain();
}
async function downAndUp(): Promise<void> {
  expect(await cortex.cortex(['down'])).toMatchObject({ code: 0 });
  await upAgain();
}

describe.each([
  ['at once', async () => {}],
  ['after down and up', downAndUp],
  ['after kill -9 of everything', killAll],
])('the same key %s', (when, between) => {
  const key = `ticket ${when}`;
  const waitKey = `wait ${when}`;
  const title = `made ${when}`;
  let first: Answer;
  let waiting: Answer;
  beforeAll(async () => {
    first = await create(title, { key });
    waiting = await cortex.call('wait_create', { label: title, intent: 'go on' }, { key: waitKey, token: agent.token });
    expect([first.text, first.ok, waiting.text, waiting.ok]).toEqual([first.text, true, waiting.text, true]);
    await between();
  });

  it('gives its caller the first result again, and the ticket is there once', async () => {
    expect(await create(title, { key })).toEqual(first);
    expect(await ticketsOf(title)).toEqual([idOf(first)]);
  });
  it('gives an agent the secret of its waitpoint again, which was told once', async () => {
    const again = await cortex.call(
      'wait_create',
      { label: title, intent: 'go on' },
      { key: waitKey, token: agent.token },
    );
    expect(again).toEqual(waiting);
    expect(again.structured).toMatchObject({ secret: expect.stringMatching(/^[0-9a-f]{32}$/) });
  });
  it('with other arguments, in another workspace or of another tool is a conflict, and nothing is made', async () => {
    expect(await create(`${title} differently`, { key })).toMatchObject(mismatch);
    const fact = { workspace_id: WORKSPACE, domain: 'd', topic: 't', content: 'c' };
    expect(await cortex.call('propose_fact', fact, { key })).toMatchObject(mismatch);
    expect(await ticketsOf(`${title} differently`)).toEqual([]);
  });
  it('T03 of another caller is another call: of a colleague, and of an agent of the same person', async () => {
    const others = [await create(title, { key, token: colleague }), await create(title, { key, token: agent.token })];
    const ids = [first, ...others].map(idOf);
    expect(new Set(ids).size).toBe(3);
    expect(await ticketsOf(title)).toEqual(ids.toSorted());
  });
});

it('a key that comes again while the first call runs waits for it, and all get the one result', async () => {
  const answers = await Promise.all(Array.from({ length: 12 }, () => create('at the same time', { key: 'twelve' })));
  expect(new Set(answers.map(idOf)).size).toBe(1);
  expect(answers.map(({ ok }) => ok)).toEqual(answers.map(() => true));
  expect(await ticketsOf('at the same time')).toHaveLength(1);
});

it('P82 a key whose window is over is sent again, and meets what it made then', async () => {
  const first = await create('long ago', { key: 'old' });
  await withAdmin(cortex.home, async ({ bus, state }) => {
    const owner = { issuer: state.issuer ?? '', sub: 'owner', client_id: 'cortex-cli' };
    const at = hashedToken(JSON.stringify([callerHash(callerKey(owner)), 'old']));
    const bucket = bus.kv(BUCKETS.idempotency.name);
    expect(await bucket.get(at)).not.toBeNull();
    await bucket.delete(at);
  });
  const again = await create('long ago', { key: 'old' });
  expect(again).toMatchObject({ ok: true, structured: { ticket_id: idOf(first) } });
  expect(await ticketsOf('long ago')).toHaveLength(1);
});

it('P81 P87 a service that is killed between its commit and its answer has made one ticket, whoever asks again', async () => {
  let cut: string[] = [];
  for (let round = 0; cut.length === 0 && round < 10; round++) {
    await cortex.ready();
    const titles = Array.from({ length: 6 }, (_, n) => `killed in round ${round}, ${n}`);
    const send = (title: string): Promise<Answer> => create(title, { key: title });
    const first = await killedAtItsCommit(() => Promise.all(titles.map(send)));
    // Those that were made and whose caller was not told: what this is about.
    const made = await Promise.all(titles.map(ticketsOf));
    cut = titles.filter((_, n) => !first[n]?.ok && made[n]?.length === 1);
    const again = await Promise.all(titles.map((title) => settled(() => send(title))));
    for (const [n, title] of titles.entries()) {
      expect(again[n]).toMatchObject({ ok: true });
      expect(await ticketsOf(title)).toEqual([idOf(again[n]!)]);
      if (first[n]?.ok) expect(again[n]).toEqual(first[n]);
    }
    expect(new Set(again.map(({ structured }) => structured?.['key'])).size).toBe(titles.length);
  }
  expect(cut).not.toEqual([]);
});

/** Kills the service of tickets when its second ticket is seen in the log; resolves when another one runs in its place. */
async function killedAtItsCommit<T>(work: () => Promise<T>): Promise<T> {
  const victim = cortex.process('ticket');
  return withAdmin(cortex.home, async ({ bus }) => {
    let seen = 0;
    const watch = bus.subscribe(`cortex.evt.ticket.${WORKSPACE}.ticket.*`, () => {
      if (++seen === 2) process.kill(victim.pid, 'SIGKILL');
    });
    await bus.nc.flush();
    const result = await work();
    watch.unsubscribe();
    await eventually(() => cortex.process('ticket').restarts > victim.restarts, 30_000);
    return result;
  });
}
