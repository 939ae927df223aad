import { result, type ToolResult } from '@cortex/service-kit';

export const indentedText = (data: unknown): string => JSON.stringify(data, null, 2);

/**
 * How the built-ins answer: one text block of indented JSON beside the same structured value; other blocks where the text is not for this
 * caller as it is. Source: gateway, section 16.
 */
export const indented = <T>(data: T, texts: readonly string[] = [indentedText(data)]): ToolResult<T> =>
  result(data, { content: texts.map((text) => ({ type: 'text', text })) });
