import type { Tool } from '@cortex/service-kit';
import { costQuery } from './cost-query.tool.js';

/** Every tool of the service, in the order in which it is listed. */
export const tools: Tool[] = [costQuery];
