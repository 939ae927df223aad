import { defineTool } from '@cortex/service-kit';
import { z } from 'zod';
import { edgeScope } from '../edge-scope.js';
import { indented } from './indented.js';

const item = { name: z.string(), _meta: z.record(z.string(), z.unknown()).optional() };

/** The list of resources for clients that do not show it. Events: none. Errors: none. Source: gateway, section 16.6. */
export const listCortexResources = defineTool({
  name: 'list_cortex_resources',
  title: 'List resources',
  description:
    'Lists the resources and templates of resources that you may read, of this server and of every connected backend. ' +
    'Use it where your client shows no resources; then read_cortex_resource with a uri, which may be one that you made of a ' +
    'template. Safe to repeat.',
  tier: 'read',
  actions: [],
  workspace: 'none',
  builtin: true,
  input: z.object({}),
  output: z.object({
    resources: z.array(z.looseObject({ uri: z.string(), ...item })).describe('As resources/list shows them'),
    resourceTemplates: z
      .array(z.looseObject({ uriTemplate: z.string().describe('RFC 6570'), ...item }))
      .describe('As resources/templates/list shows them'),
  }),
  handle(_args, ctx) {
    const { caller, input, methods } = edgeScope(ctx);
    return indented(methods.resources({ caller, list: input.list ?? {} }) as Listed);
  },
});

/** Both are what the backends declared, looked at when they did. */
interface Listed {
  resources: { uri: string; name: string }[];
  resourceTemplates: { uriTemplate: string; name: string }[];
}
