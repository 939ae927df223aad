export { MemoryModule, memoryService } from './memory.module.js';
