import { ownScheme } from '../federation/declarations.js';
import type { FederatedCatalog } from '../federation/types.js';
import { promptOf, referredTo, resourceOf } from './items.js';
import type { Json } from './types.js';

/** Whom a request was for, and the scope that let it through: for its record. Source: gateway, section 20. */
export interface Attribution {
  readonly target_app?: string;
  readonly scope_used?: string;
}

const NONE: Attribution = {};

/** Of a prompt by the catalogue, of a resource by what it means, else by its scheme. Requests that are for no backend have neither. */
export function attributionOf(
  { method, params }: { method: string; params: Json },
  catalog: FederatedCatalog,
  backends: Iterable<{ backend: Parameters<typeof ownScheme>[0] }>,
  isOwn: (uri: string) => boolean,
): Attribution {
  const reference = method === 'completion/complete' ? (params['ref'] as Json | null | undefined) : params;
  const name = method === 'resources/read' ? undefined : reference?.['name'];
  const uri = method === 'prompts/get' ? undefined : reference?.['uri'];
  if (typeof name === 'string') return told(promptOf(catalog, name));
  if (typeof uri !== 'string') return NONE;
  if (isOwn(uri)) return { target_app: 'gateway' };
  const item = method === 'resources/read' ? resourceOf(catalog, uri) : referredTo(catalog, uri);
  if (item !== undefined) return told(item);
  for (const { backend } of backends) if (ownScheme(backend, uri)) return { target_app: backend.id };
  return NONE;
}

const told = (item: { backend: { id: string }; scope: string } | undefined): Attribution =>
  item === undefined ? NONE : { target_app: item.backend.id, scope_used: item.scope };
