import { unavailable } from '@cortex/contracts';
import { defineCommand, defineQuery, defineService } from '@cortex/service-kit';
import { eventually } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { Sweeper } from './adapters/sweeper.js';
import { sessionStandIn } from './testing/session-stand-in.js';
import { startWaiting } from './testing/waiting.js';

/** Stands for remote-ops: machines with files in their spools. */
function remoteStandIn(devices: Record<string, Map<string, string | null> | 'away'>) {
  const visits: string[] = [];
  const spoolOf = (device: string) => {
    const spool = devices[device];
    visits.push(device);
    if (spool === undefined || spool === 'away') throw unavailable('device', `${device} is not connected`, '');
    return spool;
  };
  const service = defineService({
    name: 'remote-ops',
    config: z.object({}),
    tools: [],
    queries: [
      defineQuery({
        name: 'reachable_devices',
        input: z.object({}),
        handle: () => ({ devices: Object.keys(devices) }),
      }),
    ],
    commands: [
      defineCommand({
        name: 'read_spool',
        input: z.object({ device: z.string(), after: z.string().nullable() }),
        handle({ device, after }) {
          const sorted = [...spoolOf(device)].toSorted(([a], [b]) => (a < b ? -1 : 1));
          const behind = sorted.filter(([name]) => after === null || name > after);
          const [page, rest] = [behind.slice(0, 2), behind.slice(2)];
          const files = page.map(([name, content]) => ({ name, content }));
          return { files, next: rest.length > 0 ? files.at(-1)!.name : null };
        },
      }),
      defineCommand({
        name: 'remove_spool',
        input: z.object({ device: z.string(), names: z.array(z.string()) }),
        handle({ device, names }) {
          for (const name of names) spoolOf(device).delete(name);
          return {};
        },
      }),
    ],
  });
  return { service, visits };
}

it('a sweep takes signals in from the devices that armed waitpoints name, and removes what is done with', async () => {
  const lab = new Map<string, string | null>();
  const remote = remoteStandIn({ lab, off: 'away', idle: new Map() });
  const session = sessionStandIn();
  await using at = await startWaiting({ beside: [session.service, remote.service] });
  const sweep = () => at.app.get(Sweeper).sweep();
  await expect(at.arm({ device: 'nowhere' })).rejects.toMatchObject({
    kind: 'not_found',
    message: 'device "nowhere" is not registered; use one of lab, off, idle',
  });
  const { id, secret } = await at.arm({ device: 'lab', max_signals: 9 });
  await at.arm({ device: 'off' });
  const file = (more = {}) => JSON.stringify({ id, secret, message: 'exit=0', ...more });
  const files: [string, string | null][] = [
    ['a.json', file()],
    ['b.json', '{'],
    ['c.json', null],
    ['d.json', file({ secret: 'guess' })],
    ['e.json', file({ id: 'wp_000000000000' })],
    ['f.json', file({ status: 'fail' })],
  ];
  for (const [name, content] of files) lab.set(name, content);
  expect(await sweep()).toMatchObject({ spooled: 3 });
  // Malformed ones and wrong secrets stay where they are; they are told once and cost no miss again.
  expect([...lab.keys()]).toEqual(['b.json', 'c.json', 'd.json']);
  await sweep();
  const { rows } = await at.app.postgres
    .pool()
    .query(`select reason, count(*)::int as n from waitpoint.rejections group by reason order by reason`);
  expect(rows).toEqual([
    { reason: 'unknown_id', n: 1 },
    { reason: 'wrong_secret', n: 1 },
  ]);
  lab.set('a.json', file()); // the removal was lost
  await sweep();
  expect(lab.has('a.json')).toBe(false);
  await eventually(async () =>
    expect((await at.view(id)).signals.map(({ status, source }) => [status, source])).toEqual([
      ['ok', 'device:lab'],
      ['fail', 'device:lab'],
    ]),
  );
  expect(new Set(remote.visits)).toEqual(new Set(['lab', 'off']));
});

it('waits for nothing while remote-ops is away', async () => {
  const remote = remoteStandIn({ lab: new Map() });
  await using at = await startWaiting({ beside: [sessionStandIn().service, remote.service] });
  await at.arm({ device: 'lab' });
  await using alone = await startWaiting({ nats: at.app.nats, postgres: at.app.postgres, beside: [] });
  await at.app.stop();
  expect(await alone.app.get(Sweeper).sweep()).toMatchObject({ spooled: 0 });
});
