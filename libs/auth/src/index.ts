export * from './caller-key.js';
export * from './introspection.js';
export * from './jwks.js';
export * from './refusal.js';
export * from './scopes.js';
export * from './seal.js';
export * from './token-cache.js';
export * from './verifier.js';
