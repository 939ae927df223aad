import { subjects } from '@cortex/contracts';
import { connect } from '@nats-io/transport-node';
import { echoResult, TOOL } from './request.js';

/** The other end of the hop floors: a bare subscription. */
const nc = await connect({ servers: process.argv[2] ?? '' });
nc.subscribe(subjects.tool('bench', TOOL), {
  callback: (_error, message) => {
    message.respond(echoResult(message.json<{ text: string }>().text));
  },
});
await nc.flush();
process.send?.({ ready: true });
process.once('disconnect', () => process.exit(0));
