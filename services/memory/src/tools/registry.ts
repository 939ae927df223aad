import type { Tool } from '@cortex/service-kit';
import { proposeFact } from './propose-fact.tool.js';
import { searchMemory } from './search-memory.tool.js';

/** Every tool of the service, in the order in which it is listed. */
export const tools: Tool[] = [searchMemory, proposeFact];
