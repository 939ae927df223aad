export * from './ask.js';
export * from './bus.js';
export * from './connect.js';
export { headers, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node';
