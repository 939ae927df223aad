import { once } from 'node:events';
import { SERVICES, type ServiceName } from '@cortex/contracts/services';
import { runServices } from '@cortex/service-kit';
import { loadServices } from './services.js';

/** Process that holds the services named in its argv; the supervisor starts it and says when to begin. */
const names = process.argv
  .slice(2)
  .filter((name): name is ServiceName => (SERVICES as readonly string[]).includes(name));
const STOP_LIMIT_MS = 5_000;

// Nobody is left who would bring us back or end us: go, and leave the ports to the next `up`.
process.once('disconnect', () => {
  process.kill(process.pid, 'SIGTERM');
  setTimeout(() => process.exit(1), STOP_LIMIT_MS).unref();
});

const begin = once(process, 'message');
const services = await loadServices(names);
await begin;
await runServices(services);
