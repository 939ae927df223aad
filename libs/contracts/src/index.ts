export * from './access.js';
export * from './calls.js';
export * from './envelope.js';
export * from './errors.js';
export * from './ids.js';
export * from './services.js';
export * from './subjects.js';
export * from './tool.js';
