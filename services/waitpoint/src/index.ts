export { WaitpointModule, waitpointService } from './waitpoint.module.js';
