import type { Tool } from '@cortex/service-kit';
import { currentTime } from './current-time.tool.js';
import { findTools } from './find-tools.tool.js';
import { listCortexResources } from './list-cortex-resources.tool.js';
import { listCortexTickets } from './list-cortex-tickets.tool.js';
import { listMyTools } from './list-my-tools.tool.js';
import { readCortexResource } from './read-cortex-resource.tool.js';
import { reportMissingCapability } from './report-missing-capability.tool.js';
import { searchToolBm25 } from './search-tool-bm25.tool.js';
import { whoami } from './whoami.tool.js';

/** The tools that the edge answers itself, in the order of `tools/list` within their block; the built-ins in that of gateway section 16. */
export const tools: readonly Tool[] = [
  whoami,
  listCortexResources,
  readCortexResource,
  reportMissingCapability,
  listCortexTickets,
  findTools,
  currentTime,
  searchToolBm25,
  listMyTools,
];
