import { isObject } from '@cortex/contracts/is-object';
import type { ServerEvent } from '@modelcontextprotocol/server';
import type { Federation } from '../federation/federation.js';
import type { Catalog } from '../catalog/catalog.js';
import type { Methods } from '../methods/methods.js';
import type { CallerContext } from '../seams.js';
import type { ModernRequest } from './envelope.js';

/** What changes, and what of it a caller sees. */
export interface Watched {
  readonly catalog: Catalog;
  readonly methods: Pick<Methods, 'knows' | 'view'>;
  readonly federation: Pick<Federation, 'complete' | 'shelves' | 'onChange' | 'onResourceUpdated'>;
}

/** Tells changes of what this caller sees, and no others; returns the way to stop. Source: gateway, section 9. */
export function watchFor(
  caller: CallerContext,
  { catalog, methods, federation }: Watched,
  tell: (event: ServerEvent) => void,
): () => void {
  const whenNew = (see: () => string, event: ServerEvent): (() => void) => {
    let last = see();
    return () => {
      const now = see();
      if (now === last) return;
      last = now;
      tell(event);
    };
  };
  const tools = (): string =>
    catalog
      .visible(caller)
      .map((tool) => tool.listing.full)
      .join('\n');
  const prompts = whenNew(() => methods.view('prompts', caller), { kind: 'prompts_list_changed' });
  const resources = whenNew(() => methods.view('resources', caller), { kind: 'resources_list_changed' });
  const stops = [
    catalog.onChange(whenNew(tools, { kind: 'tools_list_changed' })),
    federation.onChange((kinds) => {
      if (kinds.has('prompts')) prompts();
      if (kinds.has('resources')) resources();
    }),
    federation.onResourceUpdated((uri) => {
      if (methods.knows(uri, caller)) tell({ kind: 'resource_updated', uri });
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/** The same request for the resources that its caller may know of; the others are left out without a word. */
export function known(request: ModernRequest, knows: (uri: string) => boolean): ModernRequest {
  const { notifications } = request.params;
  if (!isObject(notifications) || !Array.isArray(notifications['resourceSubscriptions'])) return request;
  const uris = notifications['resourceSubscriptions'] as unknown[];
  const resourceSubscriptions = uris.filter((uri) => typeof uri !== 'string' || knows(uri));
  return { ...request, params: { ...request.params, notifications: { ...notifications, resourceSubscriptions } } };
}
