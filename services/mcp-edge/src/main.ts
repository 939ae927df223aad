import { runServices } from '@cortex/service-kit';
import { http } from './http-part.js';
import { McpEdgeModule, mcpEdgeService } from './mcp-edge.module.js';

await runServices([{ module: McpEdgeModule, def: mcpEdgeService, http }]);
