export * from './ask.js';
export * from './bus.js';
export * from './connect.js';
export * from './trace.js';
export { isCutOff, MAX_WAITING } from './mux.js';
export { headers, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node';
export * from './tls.js';
