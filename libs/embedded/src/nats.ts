import { mkdirSync } from 'node:fs';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Child, endsWithParent, saidBy, sizeOf, type ChildOptions, type Running } from './child.js';
import { natsServerBinary } from './nats-binary.js';

export interface NatsOptions extends ChildOptions {
  /** JetStream's folder. */
  dir: string;
  /** 0 or nothing: a free one that the server picks itself. */
  port?: number;
  /** Address that it listens on; default the loopback one. */
  host?: string;
  /** Argv before its own, such as of a program that enters a namespace. */
  enter?: readonly string[];
  /** Users and limits; host, port and folder above win over what it says. */
  configFile?: string;
  /** The file names JetStream's folder, which is `dir`: only then does the server take a change of the file without a restart. */
  storeInConfig?: boolean;
  /** Path of nats-server; found or fetched when missing. */
  binary?: string;
}

/** Starts nats-server with JetStream and resolves when it takes connections. */
export async function startNats(options: NatsOptions): Promise<Running & { url: string }> {
  const binary = options.binary ?? (await natsServerBinary());
  const { host = '127.0.0.1', enter = [] } = options;
  mkdirSync(options.dir, { recursive: true, mode: 0o700 });
  const portsDir = await mkdtemp(join(tmpdir(), 'cortex-nats-'));
  const argv = [
    [binary, '--addr', host, '--port', String(options.port || -1)],
    ['--ports_file_dir', portsDir],
    options.storeInConfig ? [] : ['--jetstream', '--store_dir', options.dir],
    options.configFile === undefined ? [] : ['--config', options.configFile],
  ].flat();
  const from = sizeOf(options.logFile);
  const child = Child.start([...enter, ...endsWithParent('TERM', argv)], {
    program: 'nats-server',
    logFile: options.logFile,
  });
  let port = 0;
  try {
    await child.ready(
      async () => {
        port ||= await readPort(portsDir);
        return port !== 0 && (await greets(host, port));
      },
      // A large store is read through before the first connection.
      60_000,
      () => saidBy(child, options.logFile, from),
    );
  } finally {
    await rm(portsDir, { recursive: true, force: true });
  }
  return {
    pid: child.pid,
    port,
    url: `nats://${host}:${port}`,
    exited: child.exited,
    stop: (graceMs) => child.end('SIGTERM', graceMs),
    kill: () => child.end('SIGKILL'),
  };
}

async function readPort(dir: string): Promise<number> {
  const file = (await readdir(dir)).find((name) => name.endsWith('.ports'));
  if (file === undefined) return 0;
  try {
    const ports = JSON.parse(await readFile(join(dir, file), 'utf8')) as { nats?: string[] };
    return Number(new URL(ports.nats?.[0] ?? '').port);
  } catch {
    return 0; // half written
  }
}

/** A NATS server speaks first: `INFO {...}`. */
function greets(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host });
    const end = (up: boolean) => {
      socket.destroy();
      resolve(up);
    };
    socket.setTimeout(1_000, () => end(false));
    socket.once('error', () => end(false));
    socket.once('data', (data) => end(data.toString('latin1').startsWith('INFO ')));
  });
}
