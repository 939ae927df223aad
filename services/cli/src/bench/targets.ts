import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNats } from '@cortex/embedded/nats';
import { CALLS_STREAM } from '@cortex/contracts';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { startProgram } from './processes.js';
import { callOf, type Exchange } from './request.js';

/** A target that runs, made for one visit. */
export interface Running extends Exchange, AsyncDisposable {
  port: number;
  /** The process whose CPU and memory are measured, and those that work for it. */
  server: number;
  helpers: Record<string, number>;
  /** After the load: throws when what was recorded is not what was answered. */
  verify?(answers: number): Promise<void>;
}

export interface Target {
  name: string;
  what: string;
  start(): Promise<Running>;
}

const bare = (name: string, what: string, file: string): Target => ({
  name,
  what,
  async start() {
    const server = await startProgram(file);
    const port = Number(server.said['port']);
    return {
      ...callOf({ port }),
      port,
      server: server.pid,
      helpers: {},
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  },
});

const hop = (name: string, what: string, client: 'stock' | 'own'): Target => ({
  name,
  what,
  async start() {
    await using stack = new AsyncDisposableStack();
    const dir = await mkdtemp(join(tmpdir(), 'cortex-bench-'));
    stack.defer(() => rm(dir, { recursive: true, force: true }));
    const broker = await startNats({ dir });
    stack.defer(() => broker.kill());
    const nc = await connect({ servers: broker.url });
    stack.defer(() => nc.close());
    const jsm = await jetstreamManager(nc);
    await jsm.streams.add({ name: CALLS_STREAM, subjects: ['cortex.call.>'] });
    const responder = stack.use(await startProgram('responder.js', [broker.url]));
    const server = stack.use(await startProgram('floor-hop.js', [client, broker.url]));
    const port = Number(server.said['port']);
    const cleanUp = stack.move();
    return {
      ...callOf({ port }),
      port,
      server: server.pid,
      helpers: { broker: broker.pid, responder: responder.pid },
      async verify(answers) {
        const { state } = await jsm.streams.info(CALLS_STREAM);
        if (state.messages !== answers) throw new Error(`${name}: ${answers} answers, ${state.messages} records`);
      },
      [Symbol.asyncDispose]: () => cleanUp.disposeAsync(),
    };
  },
});

export const FLOORS: readonly Target[] = [
  bare('bare', '(a) node:http, JSON-RPC echo', 'floor-bare.js'),
  bare('sdk', '(b) the same as a minimal MCP SDK server', 'floor-sdk.js'),
  hop('hop', '(e) node:http, one hop and one record, stock client', 'stock'),
  hop('hop-own', '(f) the same on our own bus', 'own'),
];
