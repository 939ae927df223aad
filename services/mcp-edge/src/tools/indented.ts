import { result, type ToolResult } from '@cortex/service-kit';

/** How the built-ins answer: one text block of indented JSON beside the same structured value. Source: gateway, section 16. */
export const indented = <T>(data: T): ToolResult<T> =>
  result(data, { content: [{ type: 'text', text: JSON.stringify(data, null, 2) }] });
