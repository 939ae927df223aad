import { ownScheme } from '../federation/declarations.js';
import { wantsPerson } from '../federation/reach.js';
import type { FederatedCatalog, FederatedPrompt, FederatedResource, FederatedTemplate } from '../federation/types.js';
import type { CallerContext } from '../seams.js';
import { type Pattern, patternFrom } from './template-pattern.js';
import type { Json } from './types.js';

/** Anything of a backend that is no tool. */
export type Item = FederatedPrompt | FederatedResource | FederatedTemplate;

/** A longer URI than this is matched with nothing: the time of a match grows with it. */
const MAX_URI = 8 * 1024;
/** Members of a declaration that are not for clients. */
const NOT_PASSED_ON = new Set(['scope', 'name', '_meta']);

/** Whether this caller may use an item: by the scope, and whether there is a token to show to its backend. */
export const maySee = ({ scope, backend }: Item, caller: CallerContext): boolean =>
  caller.scopes.has(scope) && !wantsPerson(backend, caller);

const listings = new WeakMap<Item, Json>();

/** An item as a list shows it; worked out once. */
export function listed(item: Item): Json {
  let listing = listings.get(item);
  if (listing === undefined) listings.set(item, (listing = listingOf(item)));
  return listing;
}

function listingOf(item: Item): Json {
  const rest = Object.fromEntries(Object.entries(item.value).filter(([key]) => !NOT_PASSED_ON.has(key)));
  const meta = item.value['_meta'] as Json | undefined;
  const app = { ...meta, app: item.backend.id };
  if (!('exposed' in item)) return { name: item.name, ...rest, _meta: app };
  const { exposed, original, backend } = item;
  // A name that had to be changed stays readable as the title, where there is none.
  const title = exposed === backend.prefix + original ? {} : { title: original };
  return { name: exposed, ...title, ...rest, _meta: { ...app, 'cortex/name': original } };
}

export const promptOf = ({ prompts }: FederatedCatalog, name: string): FederatedPrompt | undefined =>
  prompts.find(({ exposed }) => exposed === name);

/** The item that a URI means: a resource of exactly this URI, else the template that says most of it. Only in a scheme of its backend. */
export function resourceOf(catalog: FederatedCatalog, uri: string): FederatedResource | FederatedTemplate | undefined {
  if (uri.length > MAX_URI) return undefined;
  const fixed = catalog.resources.find((item) => item.uri === uri && ownScheme(item.backend, uri));
  if (fixed !== undefined) return fixed;
  let best: FederatedTemplate | undefined;
  for (const template of catalog.templates) {
    if (best !== undefined && patternOf(best).literal >= patternOf(template).literal) continue;
    if (ownScheme(template.backend, uri) && patternOf(template).fits(uri)) best = template;
  }
  return best;
}

/** What a reference for completions means: a template by its own text, or whatever the URI means. */
export const referredTo = (catalog: FederatedCatalog, uri: string): FederatedResource | FederatedTemplate | undefined =>
  catalog.templates.find(({ uriTemplate }) => uriTemplate === uri) ?? resourceOf(catalog, uri);

const patterns = new WeakMap<FederatedTemplate, Pattern>();

function patternOf(template: FederatedTemplate): Pattern {
  let pattern = patterns.get(template);
  if (pattern === undefined) patterns.set(template, (pattern = patternFrom(template.uriTemplate)));
  return pattern;
}
