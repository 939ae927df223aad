import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { inboxPrefix } from '@cortex/contracts';
import { PROVISIONER } from '@cortex/contracts/services';
import type { StreamConfig } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { CliError } from '../exit.js';

/** Where a stream stood. */
export interface StreamState {
  messages: number;
  bytes: number;
  first_seq: number;
  last_seq: number;
}

export interface StreamSnapshot {
  config: Partial<StreamConfig> & { name: string };
  state: StreamState;
  /** Bytes of the file, and their SHA-256 in hex. */
  size: number;
  sha256: string;
}

/** Bytes done so far. */
export type OnBytes = (bytes: number) => void;

interface Answer {
  error?: { code: number; description: string };
}

const ANSWER_MS = 30_000;
/** The server writes a restored stream down, and checks it, before it answers the last chunk. */
const LAST_ANSWER_MS = 600_000;
const SILENCE_MS = 60_000;
const CHUNK = 128 * 1024;

/**
 * One stream with its consumers, as it is at one moment, by the server's own snapshots: calls go on meanwhile. The file is what that
 * server writes; the same server or a newer one reads it.
 */
export async function takeSnapshot(
  nc: NatsConnection,
  stream: string,
  file: string,
  onBytes: OnBytes = () => {},
): Promise<StreamSnapshot> {
  const deliver_subject = `${inboxPrefix(PROVISIONER)}.${randomBytes(12).toString('hex')}`;
  const chunks = nc.subscribe(deliver_subject);
  const out = await open(file, 'wx', 0o600);
  const hash = createHash('sha256');
  let size = 0;
  let silent = false;
  const watch = setTimeout(() => {
    silent = true;
    chunks.unsubscribe();
  }, SILENCE_MS);
  try {
    const { config, state } = await api<StreamSnapshot & Answer>(nc, `STREAM.SNAPSHOT.${stream}`, {
      deliver_subject,
      chunk_size: CHUNK,
      // What is broken on the disk is told now, not by a restore.
      jsck: true,
    });
    let ended = false;
    for await (const chunk of chunks) {
      watch.refresh();
      if (chunk.data.length === 0) {
        const code = chunk.headers?.code ?? 0;
        if (code >= 300) throw new CliError(`the snapshot of ${stream} broke off: ${chunk.headers?.description}`);
        ended = true;
        break;
      }
      await out.writeFile(chunk.data);
      hash.update(chunk.data);
      onBytes((size += chunk.data.length));
      // By these answers the server knows how fast it may go on.
      chunk.respond();
    }
    if (!ended) throw new CliError(`the snapshot of ${stream} broke off${silent ? ': the server fell silent' : ''}`);
    await out.sync();
    const { messages, bytes, first_seq, last_seq } = state;
    return { config, state: { messages, bytes, first_seq, last_seq }, size, sha256: hash.digest('hex') };
  } finally {
    clearTimeout(watch);
    chunks.unsubscribe();
    await out.close();
  }
}

/** Makes the stream out of its file; there must be none of its name. */
export async function putSnapshot(
  nc: NatsConnection,
  { config, state }: Pick<StreamSnapshot, 'config' | 'state'>,
  file: string,
  onBytes: OnBytes = () => {},
): Promise<void> {
  const { deliver_subject } = await api<{ deliver_subject: string }>(nc, `STREAM.RESTORE.${config.name}`, {
    config,
    state,
  });
  const put = async (data: Uint8Array, timeout: number): Promise<void> => {
    const reply = await nc.request(deliver_subject, data, { timeout });
    if (reply.data.length > 0) assertDone(config.name, reply.json<Answer>());
  };
  let done = 0;
  for await (const chunk of createReadStream(file, { highWaterMark: CHUNK }) as AsyncIterable<Buffer>) {
    await put(chunk, ANSWER_MS);
    onBytes((done += chunk.length));
  }
  await put(new Uint8Array(), LAST_ANSWER_MS);
}

async function api<T>(nc: NatsConnection, path: string, body: object): Promise<T> {
  const reply = await nc.request(`$JS.API.${path}`, JSON.stringify(body), { timeout: ANSWER_MS });
  const answer = reply.json<T & Answer>();
  assertDone(path, answer);
  return answer;
}

function assertDone(what: string, { error }: Answer): void {
  if (error !== undefined) throw new CliError(`the bus refuses ${what}: ${error.description} (${error.code})`);
}
