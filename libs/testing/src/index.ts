export { testAuthority, type Authority, type Certified } from './certificates.js';
export { runSource, type SourceProcess } from './child-process.js';
export { eventually } from './eventually.js';
export { foldHistories } from './fold-histories.js';
export { natsFixture, type NatsFixture, type NatsFixtureOptions } from './nats-fixture.js';
export { otlpReceiver, type OtlpReceiver, type ReceivedSpan } from './otlp-receiver.js';
export { ownPostgres, type OwnPostgres, type OwnPostgresOptions } from './own-postgres.js';
export { postgresFixture, type PostgresFixture } from './postgres-fixture.js';
export { projectionFixture, type ProjectionFixture } from './projection-fixture.js';
export { specFor } from './spec-for.js';
export {
  startService,
  type CallOptions,
  type FramedReply,
  type RunningService,
  type Startable,
  type StartOptions,
} from './start-service.js';
export { startsWithoutTools } from './starts-without-tools.js';
export { wholeRegistry } from './whole-registry.js';
export {
  counter,
  counterVersions,
  type CounterCommand,
  type CounterEvent,
  type CounterState,
} from './sample/counter.decider.js';
export { counterGet, counterIncrement, counterService } from './sample/counter.service.js';
export { counterMigrations, counters, type CounterDb } from './sample/counters.projection.js';
export { writeEvents, writeMember, writeSession, type SessionData, type WrittenSession } from './write-events.js';
export { testHome, type TestHome } from './test-home.js';
export { tempDir } from './temp-dir.js';
