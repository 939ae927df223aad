import { natsFixture } from '../nats-fixture.js';
import { counterService } from './counter.service.js';

/** A program whose bus cannot be provisioned, because two services own the same names. It ends when nothing is left open. */
await natsFixture({ services: [counterService, { ...counterService, name: 'audit' }] }).catch((error: Error) =>
  process.stdout.write(error.message),
);
