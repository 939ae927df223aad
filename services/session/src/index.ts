export { SessionModule, sessionService } from './session.module.js';
