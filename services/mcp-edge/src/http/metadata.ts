import type { IncomingMessage } from 'node:http';
import type { ResourceKind } from '../seams.js';
import type { Settings } from '../settings.js';
import { publicOrigin } from './host.js';

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** The canonical URI's path, '' for a bare origin: the suffix of the metadata document. */
export const canonicalPath = (settings: Settings): string =>
  settings.canonicalUri.slice(settings.canonicalOrigin.length);

const resourcePath = (settings: Settings, kind: ResourceKind): string =>
  kind === 'sse' ? '/sse' : canonicalPath(settings);

/** The URL that a client is to ask for metadata of what it tried. Source: gateway, sections 2.5 and 10.3. */
export const metadataUrl = (settings: Settings, req: IncomingMessage, kind: ResourceKind): string =>
  `${publicOrigin(settings, req)}${WELL_KNOWN}${resourcePath(settings, kind)}`;

/** Which resource a well-known path is about, or null. */
export function metadataResource(settings: Settings, path: string): ResourceKind | null {
  if (path === WELL_KNOWN || path === `${WELL_KNOWN}${canonicalPath(settings)}`) return 'mcp';
  return path === `${WELL_KNOWN}/sse` && settings.CORTEX_LEGACY_SSE ? 'sse' : null;
}

/** RFC 9728 document of one resource. `catalogScopes` are those of everything in the live catalogue. */
export function protectedResource(
  settings: Settings,
  req: IncomingMessage,
  kind: ResourceKind,
  catalogScopes: () => readonly string[],
): Record<string, unknown> {
  const granted = settings.CORTEX_SCOPES_SUPPORTED === 'baseline' ? [] : catalogScopes();
  // A refresh token is between client and issuer: naming its scope here is what the protocol advises against.
  const scopes = [...new Set([...granted, ...settings.OAUTH_REQUIRED_SCOPES])].filter((s) => s !== 'offline_access');
  return {
    resource: `${publicOrigin(settings, req)}${resourcePath(settings, kind)}`,
    authorization_servers: [settings.OAUTH_ISSUER],
    bearer_methods_supported: ['header'],
    ...(scopes.length > 0 && { scopes_supported: scopes.sort() }),
    resource_name: settings.CORTEX_SERVER_NAME,
    ...(settings.CORTEX_WEBSITE_URL !== undefined && { resource_documentation: settings.CORTEX_WEBSITE_URL }),
  };
}
