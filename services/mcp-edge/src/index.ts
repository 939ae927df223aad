export { http } from './http-part.js';
export { McpEdgeModule, mcpEdgeService } from './mcp-edge.module.js';
