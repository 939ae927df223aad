import type { OutgoingHttpHeaders } from 'node:http';
import { isObject } from '@cortex/contracts/is-object';
import { paramHeadersOf, type ParamHeader } from '@cortex/mcp-edge/mcp/param-headers';
import { headerValue } from '../mcp-client.js';
import type { Json } from './message.js';

/** The parameters that tools want repeated in headers, learnt from the lists that pass. */
export class ParamHeaders {
  #byTool = new Map<string, readonly ParamHeader[]>();

  /** The result of a `tools/list`, one page or the only one. */
  learn({ tools }: Json): void {
    if (!Array.isArray(tools)) return;
    for (const tool of tools as unknown[]) {
      if (!isObject(tool) || typeof tool['name'] !== 'string' || !isObject(tool['inputSchema'])) continue;
      const declared = paramHeadersOf(tool['inputSchema']);
      if (Array.isArray(declared) && declared.length > 0) this.#byTool.set(tool['name'], declared);
      else this.#byTool.delete(tool['name']);
    }
  }

  /** Headers of a `tools/call`; what is not there or null has none. */
  of({ name, arguments: args }: Json): OutgoingHttpHeaders {
    const declared = this.#byTool.get(String(name)) ?? [];
    const headers = declared.flatMap(({ name: header, path }) => {
      const value = path.reduce<unknown>((node, key) => (isObject(node) ? node[key] : undefined), args);
      const sent = ['string', 'number', 'boolean'].includes(typeof value);
      return sent ? [[`mcp-param-${header.toLowerCase()}`, headerValue(String(value))]] : [];
    });
    return Object.fromEntries(headers) as OutgoingHttpHeaders;
  }
}
