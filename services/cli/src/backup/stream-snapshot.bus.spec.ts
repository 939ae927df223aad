import { mkdir, rm, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bus } from '@cortex/bus';
import { EVENTS_STREAM } from '@cortex/contracts';
import { natsFixture, tempDir, type NatsFixture } from '@cortex/testing';
import { jetstreamManager } from '@nats-io/jetstream';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { instancesOn, streamsOn } from './log-streams.js';
import { digestOf } from './manifest.js';
import { putSnapshot, takeSnapshot } from './stream-snapshot.js';

let nats: NatsFixture;
let elsewhere: NatsFixture;
let bus: Bus;
let other: Bus;
let dir: string;
beforeAll(async () => {
  dir = await tempDir('snapshots');
  await mkdir(join(dir, 'streams'));
  nats = await natsFixture();
  elsewhere = await natsFixture({ provision: false });
  bus = await nats.busAs('provision');
  other = await elsewhere.busAs('provision');
});
afterEach(async () => {
  const jsm = await jetstreamManager(other.nc);
  await jsm.streams.delete(EVENTS_STREAM).catch(() => undefined); // not every test makes it
});
afterAll(async () => {
  await nats[Symbol.asyncDispose]();
  await elsewhere[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

const fill = (bytes: number) =>
  bus.publishAcked(`cortex.evt.ticket.ws.thing.t${bytes}`, Buffer.alloc(bytes, Math.random().toString(36)));
const fileOf = (name: string) => join(dir, 'streams', name);

it('a stream is on another server what it was: sequences, gaps and consumers', async () => {
  const jsm = await jetstreamManager(bus.nc);
  for (let n = 0; n < 40; n++) await fill(200_000);
  await jsm.streams.deleteMessage(EVENTS_STREAM, 7);
  await jsm.consumers.add(EVENTS_STREAM, { durable_name: 'reader', ack_policy: 'explicit', deliver_policy: 'all' });
  const told: number[] = [];
  const snapshot = await takeSnapshot(bus.nc, EVENTS_STREAM, fileOf('whole'), (bytes) => told.push(bytes));
  expect(snapshot.state).toMatchObject({ messages: 39, first_seq: 1, last_seq: 40 });
  expect(told.at(-1)).toBe(snapshot.size);
  expect(await digestOf(dir, 'streams/whole')).toMatchObject({ size: snapshot.size, sha256: snapshot.sha256 });
  expect((await stat(fileOf('whole'))).mode & 0o777).toBe(0o600);

  await putSnapshot(other.nc, snapshot, fileOf('whole'));
  const there = await jetstreamManager(other.nc);
  const before = await jsm.streams.info(EVENTS_STREAM);
  const after = await there.streams.info(EVENTS_STREAM);
  expect(after.state).toMatchObject({ messages: 39, last_seq: 40, num_deleted: 1 });
  expect(after.config).toMatchObject({ subjects: before.config.subjects, allow_direct: true });
  const last = await jsm.streams.getMessage(EVENTS_STREAM, { seq: 40 });
  expect((await there.streams.getMessage(EVENTS_STREAM, { seq: 40 }))?.data).toEqual(last?.data);
  expect(await there.consumers.info(EVENTS_STREAM, 'reader')).toMatchObject({ num_pending: 39 });
  expect(await streamsOn(other.nc)).toEqual({ names: [EVENTS_STREAM], logged: 39 });
});

it('half a snapshot makes no stream, and leaves nothing in the way of a whole one', async () => {
  const snapshot = await takeSnapshot(bus.nc, EVENTS_STREAM, fileOf('half'));
  await takeSnapshot(bus.nc, EVENTS_STREAM, fileOf('good'));
  await truncate(fileOf('half'), Math.floor(snapshot.size / 2));
  await expect(putSnapshot(other.nc, snapshot, fileOf('half'))).rejects.toThrow(/the bus refuses CORTEX_EVENTS/);
  expect(await streamsOn(other.nc)).toEqual({ names: [], logged: 0 });
  await putSnapshot(other.nc, snapshot, fileOf('good'));
  expect(await streamsOn(other.nc)).toMatchObject({ logged: snapshot.state.messages });
});

it('a stream that is there is not written over, and one that is not there has no snapshot', async () => {
  const snapshot = await takeSnapshot(bus.nc, EVENTS_STREAM, fileOf('again'));
  await expect(putSnapshot(bus.nc, snapshot, fileOf('again'))).rejects.toThrow(/the bus refuses STREAM.RESTORE/);
  await expect(takeSnapshot(bus.nc, 'CORTEX_NONE', fileOf('none'))).rejects.toThrow(/stream not found \(404\)/);
  await expect(takeSnapshot(bus.nc, EVENTS_STREAM, fileOf('again'))).rejects.toThrow(/EEXIST/);
});

it('whoever is at work is found by name', async () => {
  expect(await instancesOn(bus.nc)).toEqual([]);
  await bus.publishAcked('$KV.cortex_nodes.ticket.abc', '{}');
  expect(await instancesOn(bus.nc)).toEqual(['ticket.abc']);
  expect(await instancesOn(other.nc)).toEqual([]);
});
