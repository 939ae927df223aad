import type { Tool } from '@cortex/service-kit';
import { cortexContext } from './cortex-context.tool.js';

/** Every tool of the service, in the order in which it is listed. */
export const tools: Tool[] = [cortexContext];
