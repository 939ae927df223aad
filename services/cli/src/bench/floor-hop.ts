import { randomUUID } from 'node:crypto';
import { connectBus } from '@cortex/bus';
import { subjects } from '@cortex/contracts';
import { jetstream } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { serveCalls } from './floor-server.js';
import { TOOL } from './request.js';

/*
 * The floors that make one hop: node:http, a request to a bare responder, an acknowledged record, the answer.
 * `stock` (e) does it with the client library as it comes, `own` (f) with our bus.
 */
const [client, servers = ''] = process.argv.slice(2);
const subject = subjects.tool('bench', TOOL);
const recordSubject = subjects.call('bench', TOOL);
const record = (): string => JSON.stringify({ call_id: randomUUID(), at: new Date().toISOString(), tool: TOOL });

if (client === 'stock') {
  const nc = await connect({ servers });
  const js = jetstream(nc);
  serveCalls(async (args) => {
    const reply = await nc.request(subject, JSON.stringify(args), { timeout: 5_000 });
    await js.publish(recordSubject, record());
    return reply.string();
  });
} else {
  const bus = await connectBus({ servers, service: 'mcp-edge', waitOnFirstConnect: false });
  serveCalls(async (args) => {
    const reply = await bus.request(subject, JSON.stringify(args), { timeoutMs: 5_000 });
    await bus.publishAcked(recordSubject, record());
    return reply.string();
  });
}
