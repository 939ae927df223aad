import { LEGACY_REVISIONS, MODERN } from '../seams.js';
import type { Settings } from '../settings.js';

/** What the server says of itself in every revision. Source: gateway, section 5.4. */
export function serverInfo(settings: Settings) {
  const icon = (theme: 'light' | 'dark') => ({
    src: `${settings.canonicalOrigin}/icon-${theme}.png`,
    mimeType: 'image/png',
    sizes: ['256x256'],
    theme,
  });
  return {
    name: settings.CORTEX_SERVER_NAME,
    version: settings.version,
    websiteUrl: settings.websiteUrl,
    description: 'One MCP endpoint for all the agents of an organisation',
    icons: [icon('light'), icon('dark')],
  };
}

/** The draft server card (SEP-2127); its revisions come from the constants that the endpoint itself uses. */
export function serverCard(settings: Settings): Record<string, unknown> {
  const { name, version, websiteUrl, description, icons } = serverInfo(settings);
  const streamable = settings.CORTEX_LEGACY ? LEGACY_REVISIONS.filter((r) => r !== '2024-11-05') : [];
  const remotes: object[] = [
    { type: 'streamable-http', url: settings.canonicalUri, supportedProtocolVersions: [MODERN, ...streamable] },
  ];
  if (settings.CORTEX_LEGACY && settings.CORTEX_LEGACY_SSE) {
    remotes.push({ type: 'sse', url: `${settings.canonicalOrigin}/sse`, supportedProtocolVersions: ['2024-11-05'] });
  }
  return {
    $schema: 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json',
    name: settings.CORTEX_SERVER_CARD_NAME ?? cardName(settings.canonicalHostname, name),
    version,
    description,
    title: name,
    websiteUrl,
    icons,
    remotes,
  };
}

/** `com.example.mcp/cortex-gateway`: 3 to 200 characters of `A-Z a-z 0-9 . _ -` and one slash. */
export function cardName(hostname: string, serverName: string): string {
  const plain = (text: string) => text.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^-+|-+$/g, '') || 'cortex';
  const namespace = /^\[|^[\d.]+$/.test(hostname) ? hostname : hostname.split('.').reverse().join('.');
  return `${plain(namespace).slice(0, 120)}/${plain(serverName).slice(0, 79)}`;
}
