import { LEGACY_REVISIONS, MODERN } from '../seams.js';
import type { Settings } from '../settings.js';

const escape = (text: string): string => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

/** The page at `/`: what this is and where to go on. Nothing of the catalogue or of who uses it (threat T16). */
export function statusPage(settings: Settings): string {
  const revisions = [MODERN, ...(settings.CORTEX_LEGACY ? LEGACY_REVISIONS : [])].join(', ');
  const name = escape(settings.CORTEX_SERVER_NAME);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${name}</title>
<link rel="icon" href="/icon-light.png">
<style>
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
  body { max-width: 40rem; margin: 4rem auto; padding: 0 1rem }
  code { font-size: .95em }
</style>
<h1>${name}</h1>
<p>Cortex ${escape(settings.version)}: one MCP endpoint for all the agents of an organisation.</p>
<p>Connect an MCP client to <code>${escape(settings.canonicalUri)}</code>.</p>
<p>Protocol revisions: ${revisions}.</p>
<p><a href="/mcp/server-card">Server card</a></p>
</html>
`;
}
