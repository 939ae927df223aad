import type { Tool } from '@cortex/service-kit';
import { waitCancel } from './wait-cancel.tool.js';
import { waitCheck } from './wait-check.tool.js';
import { waitCreate } from './wait-create.tool.js';

/** Every tool of the service, in the order in which it is listed. */
export const tools: Tool[] = [waitCreate, waitCheck, waitCancel];
