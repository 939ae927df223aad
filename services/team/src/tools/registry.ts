import type { Tool } from '@cortex/service-kit';

/** Every tool of the service, in the order in which it is listed. None yet. */
export const tools: Tool[] = [];
