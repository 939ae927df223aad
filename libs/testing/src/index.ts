export { eventually } from './eventually.js';
export { natsFixture, type NatsFixture, type NatsFixtureOptions } from './nats-fixture.js';
export { otlpReceiver, type OtlpReceiver, type ReceivedSpan } from './otlp-receiver.js';
export { postgresFixture, type PostgresFixture } from './postgres-fixture.js';
export { projectionFixture, type ProjectionFixture } from './projection-fixture.js';
export { specFor } from './spec-for.js';
export { startService, type CallOptions, type FramedReply, type RunningService } from './start-service.js';
export { startsWithoutTools } from './starts-without-tools.js';
