import { startsWithoutTools } from '@cortex/testing';
import { MemoryModule, memoryService } from './memory.module.js';

startsWithoutTools({ module: MemoryModule, def: memoryService });
