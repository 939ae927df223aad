export { argumentsOf, nearest, type Arguments } from './arguments.js';
export type { ToolContext } from './context.js';
export { defineCommand, defineQuery, type Endpoint } from './endpoint.js';
export { HealthRegistry, type Check } from './health.js';
export { ServiceHost } from './host.js';
export { uuidOf } from './ids.js';
export { limit } from './limit.js';
export type { Lines } from './lines.js';
export { Metrics } from './metrics.js';
export { opsRoutes, type OpsRoutes } from './ops.js';
export { startProcess, type HttpPart, type Runnable, type RunningProcess, type RunOptions } from './process.js';
export { cursor, nextCursor, page, readCursor, writeCursor, type Page, type PageOrder } from './page.js';
export { runService, runServices } from './run.js';
export { defineReactor, type ReactionContext } from './reaction.js';
export { runTool, type ToolOptions, type ToolReply } from './runner.js';
export { loadSecrets, type Secrets } from './secrets.js';
export {
  BUS,
  CONFIG,
  DEFINITION,
  defineService,
  definitionOf,
  HOST,
  LOG,
  ServiceKit,
  STORE,
  type Get,
  type ServiceDefinition,
} from './service.js';
export {
  defineTool,
  result,
  type Answer,
  type ApprovalPayload,
  type ContentBlock,
  type ResultOptions,
  type Tool,
  type ToolResult,
} from './tool.js';
export { cleanText, document, text, type TextBounds } from './text.js';
