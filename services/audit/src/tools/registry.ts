import type { Tool } from '@cortex/service-kit';
import { queryExecutions } from './query-executions.tool.js';

/** Every tool of the service, in the order in which it is listed. */
export const tools: Tool[] = [queryExecutions];
