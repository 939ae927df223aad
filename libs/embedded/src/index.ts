export * from './child.js';
export * from './error.js';
export * from './nats-binary.js';
export * from './nats.js';
export * from './ports.js';
export * from './postgres-binaries.js';
export * from './postgres.js';
