import { runServices } from '@cortex/service-kit';
import { MemoryModule, memoryService } from './memory.module.js';

await runServices([{ module: MemoryModule, def: memoryService }]);
