import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { EventStore } from '@cortex/eventstore';
import { STORE } from '@cortex/service-kit';
import { eventually } from '@cortex/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { device as deviceAggregate } from '../device/device.decider.js';
import { remoteBash } from '../tools/remote-bash.tool.js';
import { remoteRead } from '../tools/remote-read.tool.js';
import { startFleet, type Fleet } from '../testing/fleet.js';
import { joinRaw, RawDevice, rawKey, type JoinOptions, type RawKey } from '../testing/raw-device.js';

let fleet: Fleet;
let silence: ReturnType<typeof beginSilence>;
beforeAll(async () => {
  fleet = await startFleet();
  silence = beginSilence();
});
afterAll(async () => {
  clearInterval((await silence).beat);
  await fleet[Symbol.asyncDispose]();
});

let count = 0;
const newName = (): string => `box-${++count}`;
const dial = (headers: Record<string, string> = {}, path?: string) =>
  RawDevice.dial(fleet.port, { 'x-cortex-token': fleet.token, ...headers }, path);
const joined = async (more: Partial<JoinOptions> = {}): Promise<RawDevice & { name: string; key: RawKey }> => {
  const name = more.device ?? newName();
  const key = more.key ?? rawKey();
  const joinCode = more.joinCode ?? (await fleet.joinCode(name));
  const device = await joinRaw({ port: fleet.port, token: fleet.token, ...more, device: name, key, joinCode });
  await fleet.online(name);
  return Object.assign(device, { name, key });
};
const join_ = (more: Partial<JoinOptions> & { device: string }) =>
  joinRaw({ port: fleet.port, token: fleet.token, key: rawKey(), ...more });
const bash = (device: string, timeout = 20) =>
  fleet.app.call(remoteBash, { device, command: 'true', timeout }, { deadlineMs: 60_000 });
/** Begun at once, since it takes its time: one device that says nothing, and one that sends heartbeats alone. */
async function beginSilence() {
  const [silent, beating] = [await joined(), await joined()];
  const beat = setInterval(() => beating.send({ type: 'heartbeat', device: 'somebody-else', timestamp: 0 }), 4_000);
  const running = bash(silent.name, 60);
  running.catch(() => undefined);
  return { silent, beating, beat, running };
}
const answer = (frame: Record<string, unknown>, data: Record<string, unknown>) => ({
  type: 'result',
  commandId: frame['commandId'],
  success: true,
  data,
});
const done = { stdout: 'ok\n', stderr: '', exitCode: 0 };
const eventsOf = async (name: string): Promise<{ type: string; data: Record<string, unknown> }[]> => {
  const { host } = fleet.app;
  const subject = `cortex.evt.remote-ops._.device.${name}`;
  const events: { type: string; data: Record<string, unknown> }[] = [];
  for (let seq = 1; ;) {
    const message = await host.bus.direct.next('CORTEX_EVENTS', subject, seq);
    if (message === null) return events;
    events.push(...(JSON.parse(Buffer.from(message.data).toString()) as { events: typeof events }).events);
    seq = message.seq + 1;
  }
};

describe('the handshake', () => {
  const closing = async (frame: unknown): Promise<number> => {
    const device = await dial();
    device.send(frame);
    return (await device.closed).code;
  };
  const hello = { type: 'hello', platform: 'linux', capabilities: [] };

  it('closes 4001 without a name and 4004 for a name that is not registered', async () => {
    expect(await closing(hello)).toBe(4001);
    expect(await closing({ ...hello, device: '' })).toBe(4001);
    expect(await closing({ ...hello, device: 7 })).toBe(4001);
    expect(await closing({ ...hello, device: 'nobody' })).toBe(4004);
    expect(await closing({ ...hello, device: '../../x' })).toBe(4004);
    expect(await closing({ ...hello, device: '__proto__' })).toBe(4004);
  });
  it('T66 closes 4005 with the token and no key, and sends no command', async () => {
    const name = newName();
    await fleet.joinCode(name);
    const device = await dial();
    device.send({ ...hello, device: name });
    await expect(device.closed).resolves.toMatchObject({ code: 4005 });
    expect(device.frames).toEqual([]);
  });
  it('T66 closes 4005 when the proof is made with another key', async () => {
    const name = newName();
    const joinCode = await fleet.joinCode(name);
    await expect(join_({ device: name, joinCode, signer: rawKey() })).rejects.toThrow('closed 4005');
    // The code was not used up by somebody who could not prove his key.
    await using device = await join_({ device: name, joinCode });
    expect(device.socket.readyState).toBe(device.socket.OPEN);
  });
  it('T66 closes 4005 with no, a wrong, a used or an expired join code, and enrols nothing', async () => {
    const name = newName();
    const joinCode = await fleet.joinCode(name);
    await expect(join_({ device: name })).rejects.toThrow('closed 4005');
    await expect(join_({ device: name, joinCode: 'wrong' })).rejects.toThrow('closed 4005');
    const expired = {
      type: 'IssueJoinCode' as const,
      device: name,
      code_sha256: createHash('sha256').update('old').digest('hex'),
      expires_at: new Date(Date.now() - 1).toISOString(),
    };
    const meta = { at: new Date().toISOString(), actor: { kind: 'system' as const, id: 'test' } };
    await fleet.app.get<EventStore>(STORE).execute(deviceAggregate, null, name, expired, {
      ...meta,
      commitId: name,
      correlation_id: name,
      causation_id: name,
    });
    await expect(join_({ device: name, joinCode: 'old' })).rejects.toThrow('closed 4005');
    await expect(join_({ device: name, joinCode })).rejects.toThrow('closed 4005'); // replaced by the newer one
    expect((await eventsOf(name)).map(({ type }) => type)).not.toContain('DeviceEnrolled');
    const fresh = await fleet.joinCode(name);
    await (await join_({ device: name, joinCode: fresh }))[Symbol.asyncDispose]();
    await fleet.offline(name);
    await expect(join_({ device: name, joinCode: fresh })).rejects.toThrow('closed 4005');
  });
  it('T66 closes the live socket of a device that is revoked, at once and for good', async () => {
    const device = await joined();
    const running = bash(device.name);
    await device.next('command');
    await fleet.app.ask('cmd', 'revoke_device', { name: device.name });
    await expect(device.closed).resolves.toMatchObject({ code: 4005 });
    await expect(running).rejects.toMatchObject({ kind: 'unavailable', reason: 'device_offline' });
    await fleet.offline(device.name);
    await expect(join_({ device: device.name, key: device.key })).rejects.toThrow('closed 4005');
  });
  it('T81 takes no word about devices from a stored message that somebody pulls onto its subject', async () => {
    const device = await joined();
    const forger = await fleet.app.nats.busAs('provision');
    await forger.publishAcked(
      'cortex.evt.remote-ops._.device.forged',
      JSON.stringify({ instance: 'x', revoked: device.name }),
    );
    const consumer = {
      stream_name: 'CORTEX_EVENTS',
      config: { durable_name: 'forger', ack_policy: 'none', filter_subject: 'cortex.evt.remote-ops._.device.forged' },
    };
    await forger.request('$JS.API.CONSUMER.DURABLE.CREATE.CORTEX_EVENTS.forger', JSON.stringify(consumer), {
      timeoutMs: 2_000,
    });
    const heard = new Promise((resolve) =>
      forger.subscribe(
        'cortex.live.remote-ops.devices',
        ({ subject }) => subject.startsWith('cortex.evt.') && resolve(subject),
      ),
    );
    forger.publish('$JS.API.CONSUMER.MSG.NEXT.CORTEX_EVENTS.forger', '1', { reply: 'cortex.live.remote-ops.devices' });
    await heard;
    const answer = bash(device.name);
    await device.next('command');
    expect(device.socket.readyState).toBe(device.socket.OPEN);
    await device[Symbol.asyncDispose]();
    await expect(answer).rejects.toMatchObject({ kind: 'unavailable' });
  });
  it('lets a known key come back without a code', async () => {
    const device = await joined();
    await device[Symbol.asyncDispose]();
    await fleet.offline(device.name);
    await using again = await join_({ device: device.name, key: device.key });
    expect(again.socket.readyState).toBe(again.socket.OPEN);
  });
  it('refuses a second device of one name with 4002 and keeps the first', async () => {
    await using device = await joined();
    await expect(join_({ device: device.name, key: device.key })).rejects.toThrow('closed 4002');
    const running = bash(device.name);
    device.send(answer(await device.next('command'), done));
    await expect(running).resolves.toMatchObject({ stdout: 'ok\n' });
  });
  it('lets a device come back whose old connection is dead, though nobody has noticed yet', async () => {
    const device = await joined();
    const running = bash(device.name);
    running.catch(() => undefined);
    await device.next('command');
    device.socket.pause(); // as a cable that was pulled: nothing comes any more, not even the end
    await using again = await join_({ device: device.name, key: device.key });
    await expect(running).rejects.toMatchObject({ kind: 'unavailable' });
    const next = bash(device.name);
    again.send(answer(await again.next('command'), done));
    await expect(next).resolves.toMatchObject({ exit_code: 0 });
    device.socket.terminate();
  });
  it('lets one of many that come at once under one name in', async () => {
    const name = newName();
    const key = rawKey();
    await (await joined({ device: name, key }))[Symbol.asyncDispose]();
    await fleet.offline(name);
    const tries = await Promise.allSettled(Array.from({ length: 8 }, () => join_({ device: name, key })));
    const reasons = tries.map((t) =>
      t.status === 'rejected' ? String((t.reason as Error).message).slice(0, 11) : 'in',
    );
    expect(reasons.toSorted()).toEqual([...Array<string>(7).fill('closed 4002'), 'in']);
    for (const t of tries) if (t.status === 'fulfilled') await t.value[Symbol.asyncDispose]();
  });
  it('ignores what is no JSON or of an unknown type, and takes a hello all the same', async () => {
    const device = await dial();
    for (const junk of ['{', '[]', 'null', '"x"', '7', { type: 'toString' }, { type: 'heartbeat' }]) device.send(junk);
    device.send({ ...hello, device: 'nobody' });
    expect((await device.closed).code).toBe(4004);
  });
  it('T68 cuts off a stranger that sends more than a hello needs', async () => {
    const device = await dial();
    device.send({ ...hello, device: 'x'.repeat(200_000) });
    expect((await device.closed).code).toBe(1006);
  });
  it('holds at most 32 sockets that have not proved who they are, and drops them after 10 s', async () => {
    const idle = await Promise.all(Array.from({ length: 32 }, () => dial()));
    await expect(dial()).rejects.toThrow('HTTP 503');
    await Promise.all(idle.map(({ closed }) => closed));
    await (await dial())[Symbol.asyncDispose]();
  });
  it('does not let sockets that never upgrade hold the port', async () => {
    const raw = connect(fleet.port, '127.0.0.1');
    raw.write('GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n');
    await using device = await joined();
    expect(device.socket.readyState).toBe(device.socket.OPEN);
    raw.destroy();
  });
});

describe('an answer', () => {
  it('counts once when the device answers twice', async () => {
    await using device = await joined();
    const running = bash(device.name);
    const command = await device.next('command');
    device.send(answer(command, done));
    device.send(answer(command, { ...done, stdout: 'second\n' }));
    await expect(running).resolves.toMatchObject({ stdout: 'ok\n' });
    const next = bash(device.name);
    device.send(answer(command, { ...done, stdout: 'third\n' }));
    device.send(answer(await device.next('command'), done));
    await expect(next).resolves.toMatchObject({ stdout: 'ok\n' });
  });
  it('is matched by its id, in any order, also under the name "id"', async () => {
    await using device = await joined();
    const both = [bash(device.name), bash(device.name)];
    const [one, two] = [await device.next('command'), await device.next('command')];
    device.send({ type: 'result', id: two['commandId'], success: true, data: { ...done, exitCode: 2 } });
    device.send(answer(one, { ...done, exitCode: 1 }));
    const codes = (await Promise.all(both)).map((result) => result.exit_code);
    expect(codes.toSorted((a, b) => a! - b!)).toEqual([1, 2]);
  });
  it('that comes after the time limit is dropped, and the device was told to stop', async () => {
    await using device = await joined();
    const running = bash(device.name, 1);
    const command = await device.next('command');
    await expect(running).rejects.toMatchObject({ kind: 'deadline_exceeded', reason: 'timeout' });
    expect(await device.next('cancel')).toEqual({ type: 'cancel', commandId: command['commandId'] });
    device.send(answer(command, done));
  });
  it('T68 that is no result fails that command alone', async () => {
    await using device = await joined();
    const deep = `${'['.repeat(100)}${']'.repeat(100)}`;
    const bad = [
      (id: string) => `{"type":"result","commandId":"${id}","success":true,"data":{"x":${deep}}}`,
      (id: string) => `{"type":"result","commandId":"${id}","success":true,"data":`,
      (id: string) => JSON.stringify({ type: 'result', commandId: id, success: true, data: { stdout: 7 } }),
      (id: string) => JSON.stringify({ type: 'result', commandId: id, success: true, data: null }),
      (id: string) => JSON.stringify({ type: 'result', commandId: id, success: true, data: [] }),
      (id: string) => JSON.stringify({ type: 'result', commandId: id }),
    ];
    const good = bash(device.name);
    const goodCommand = await device.next('command');
    for (const make of bad) {
      const running = bash(device.name);
      device.send(make((await device.next('command'))['commandId'] as string));
      await expect(running).rejects.toMatchObject({
        kind: expect.stringMatching(/^(unavailable|failed_precondition)$/),
      });
    }
    device.send(answer(goodCommand, done));
    await expect(good).resolves.toMatchObject({ exit_code: 0 });
  });
  it('T68 over 16 MiB costs the device its connection and nobody else anything', async () => {
    const device = await joined();
    await using other = await joined();
    const running = bash(device.name);
    const command = await device.next('command');
    device.send(answer(command, { ...done, stdout: 'x'.repeat(17 * 1024 * 1024) }));
    await expect(running).rejects.toMatchObject({ kind: 'unavailable' });
    expect((await device.closed).code).toBe(1009);
    expect(other.socket.readyState).toBe(other.socket.OPEN);
  });
  it('T68 with an image of too many pixels is refused by its header', async () => {
    await using device = await joined();
    const png = Buffer.alloc(64);
    Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex').copy(png);
    png.writeUInt32BE(50_000, 16);
    png.writeUInt32BE(50_000, 20);
    const running = fleet.app.call(remoteRead, { device: device.name, file_path: '/a.png' });
    device.send(answer(await device.next('command'), { image: { data: png.toString('base64') } }));
    await expect(running).rejects.toMatchObject({ kind: 'resource_exhausted', details: { width: 50_000 } });
  });
  it('T68 cannot pass text off as an image, PDF or instruction of another shape', async () => {
    await using device = await joined();
    const read = async (data: Record<string, unknown>) => {
      const running = fleet.app.call(remoteRead, { device: device.name, file_path: '/a' });
      device.send(answer(await device.next('command'), data));
      return running;
    };
    const text = Buffer.from('text').toString('base64');
    await expect(read({ image: { data: text } })).rejects.toMatchObject({ kind: 'unavailable' });
    await expect(read({ pdf: { data: text } })).rejects.toMatchObject({ kind: 'unavailable' });
    await expect(read({ content: 'x', total_lines: 1, instructions: [{ path: 7 }] })).resolves.toMatchObject({
      instructions: [],
    });
  });
  it('T88 with control characters is shown with them escaped, errors too', async () => {
    await using device = await joined();
    const running = fleet.app.send('remote_bash', { device: device.name, command: 'x' });
    device.send(answer(await device.next('command'), { ...done, stdout: 'a\x1b[2Jb\tc\r\n{"forged":1}' }));
    const { head, body } = await running;
    expect(head).toMatchObject({
      ok: true,
      meta: { 'cortex/provenance': { device: device.name, trust: 'untrusted' } },
    });
    const { content } = JSON.parse(`{${body}}`) as { content: { text: string }[] };
    expect(content[0]!.text).toBe('a\\x1B[2Jb\tc\\x0D\n{"forged":1}');
    const failing = bash(device.name);
    const { commandId } = await device.next('command');
    device.send({
      type: 'result',
      commandId,
      success: false,
      error: `\x1b]0;x\x07${'y'.repeat(9_000)}`,
      kind: 'internal',
    });
    const error = await failing.catch((e: Error) => e);
    expect(error).toMatchObject({ kind: 'failed_precondition' });
    expect((error as Error).message).toMatch(/^\\x1B\]0;x\\x07y+$/);
    expect((error as Error).message.length).toBeLessThan(2_100);
  });
});

// Last, since the silence that it waits for began with the file, and since it takes the machines away.
describe('a connection', () => {
  it('is closed 4003 after 15 s of silence, with what is in flight; one with heartbeats is not', async () => {
    const { silent, beating, running } = await silence;
    await expect(silent.closed).resolves.toMatchObject({ code: 4003 });
    await expect(running).rejects.toMatchObject({ kind: 'unavailable', details: { failure: 'heartbeat_timeout' } });
    expect(beating.socket.readyState).toBe(beating.socket.OPEN);
  });
  it('is recorded when it comes and when it goes, with what was in flight', async () => {
    const device = await joined({ platform: 'darwin' });
    const running = bash(device.name);
    await device.next('command');
    device.socket.terminate();
    await expect(running).rejects.toMatchObject({ kind: 'unavailable' });
    const events = await eventually(async () => {
      const all = await eventsOf(device.name);
      return all.at(-1)?.type === 'DeviceDisconnected' && all;
    });
    expect(events.map(({ type }) => type)).toEqual([
      'DeviceAdded',
      'DeviceJoinCodeIssued',
      'DeviceEnrolled',
      'DeviceConnected',
      'DeviceDisconnected',
    ]);
    expect(events[3]!.data).toEqual({ device: device.name, platform: 'darwin', capabilities: ['rg'] });
    expect(events[4]!.data).toEqual({ device: device.name, reason: 'connection lost', in_flight: 1 });
    expect(JSON.stringify(events)).not.toContain(device.key.privateKey.export({ format: 'jwk' }).d);
  });
  it('records no join code, only its digest', async () => {
    const name = newName();
    const code = await fleet.joinCode(name);
    expect(JSON.stringify(await eventsOf(name))).not.toContain(code);
    expect(fleet.app.log.join('\n')).not.toContain(code);
    expect(fleet.app.log.join('\n')).not.toContain(fleet.token);
  });
  it('is closed 4004 when its machine is taken out of machines.json', async () => {
    const device = await joined();
    const file = join(fleet.app.host.config['CORTEX_HOME'] as string, 'config', 'machines.json');
    await writeFile(file, '{}');
    await expect(device.closed).resolves.toMatchObject({ code: 4004 });
    await expect(bash(device.name)).rejects.toMatchObject({ kind: 'not_found' });
  });
});
