import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { isAlive } from '../identity.js';
import { Load } from './load.js';
import { RunningCortex } from './running.js';

// One process per service, a real device, and callers that never pause.
const device = 'laptop';
let cortex: RunningCortex;
beforeAll(async () => {
  cortex = await RunningCortex.start({ each: true });
  await cortex.device(device);
});
afterAll(async () => cortex[Symbol.asyncDispose](), 60_000);

it.each(['nats', 'postgres', 'remote-ops', 'mcp-edge', 'audit'])(
  'P83 P84 kill -9 of %s under load loses nothing that was answered, and calls go on by themselves',
  async (victim) => {
    await using load = new Load(cortex, device, victim);
    await load.more(40);
    await cortex.kill(victim);
    await load.more(40);
    await load.stop();
    expect(await load.lost()).toEqual({ unrecorded: [], unwritten: [] });
    // What was not answered well was refused in our words, or its connection ended with the process.
    const refusals = load.calls.filter(({ answer }) => !answer.ok && answer.status !== 0);
    expect(refusals.filter(({ answer }) => answer.kind !== 'unavailable')).toEqual([]);
    expect(refusals.filter(({ answer }) => /\$JS|\$KV|_INBOX|cortex\.tool/.test(answer.text))).toEqual([]);
  },
);

it('P81 a command with one key, sent again until it is answered while NATS dies under it, runs once at most', async () => {
  const file = join(cortex.dir, 'once');
  const command = (n: number): string => `echo ${n} >> ${file}; sleep 0.3`;
  const settled = Array.from({ length: 8 }, async (_, n) => {
    for (;;) {
      const answer = await cortex.call('remote_bash', { device, command: command(n) }, { key: `once-${n}` });
      // A conflict says that it was sent before and that its result is not known: that is an end too.
      if (answer.ok || answer.kind === 'conflict') return answer;
      expect([undefined, 'unavailable']).toContain(answer.kind);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });
  await eventually(async () => (await readFile(file, 'utf8')).length > 0, 10_000);
  await cortex.kill('nats');
  const answers = await Promise.all(settled);
  const lines = (await readFile(file, 'utf8')).trim().split('\n');
  expect(lines.toSorted()).toEqual([...new Set(lines)].toSorted());
  answers.forEach((answer, n) => answer.ok && expect(lines).toContain(String(n)));
});

it('kill -9 of up under load: nothing of it is left in the way of the next up, and nothing answered is lost', async () => {
  const { supervisor, processes } = cortex.state;
  await using load = new Load(cortex, device, 'up');
  await load.more(40);
  process.kill(supervisor.pid, 'SIGKILL');
  await eventually(() => !isAlive(supervisor));
  expect(await cortex.up()).toMatchObject({ code: 0 });
  expect(processes.filter(isAlive)).toEqual([]);
  await load.more(40);
  await load.stop();
  expect(await load.lost()).toEqual({ unrecorded: [], unwritten: [] });
});

it('P86 P87 after all that the views hold each call once, and a rebuild gives exactly their rows', async () => {
  await cortex.caughtUp();
  const rows = (): Promise<unknown[]> =>
    Promise.all(
      ['audit.tool_calls order by id', 'audit.requests order by id', 'remote_ops.devices order by name'].map((table) =>
        cortex.sql(`select * from ${table}`),
      ),
    );
  const before = await rows();
  const ended = (await cortex.records()).flatMap((record) =>
    record.type === 'ToolCallFinished' ? [record.call_id] : [],
  );
  const shown = await cortex.sql(
    'select id from audit.tool_calls where finished_at is not null and outcome is not null',
  );
  expect(new Set(shown.map(({ id }) => id))).toEqual(new Set(ended));
  expect(await cortex.cortex(['projections', 'rebuild', '--all'])).toMatchObject({ code: 0 });
  expect(await rows()).toEqual(before);
});

it('T90 P83 P84 the audit trail holds after all of that: every record was hashed once, as it came', async () => {
  await cortex.caughtUp();
  const { code, stdout, stderr } = await cortex.cortex(['audit', 'verify', '--json']);
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(stdout)).toMatchObject({ fault: null, unproven: 0, first_seq: 1 });
});
