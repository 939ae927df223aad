import type { Federation } from '../federation/federation.js';
import type { Shelf } from '../federation/shelf.js';
import { type CallerContext, type CatalogReader, LEGACY_REVISIONS, MODERN } from '../seams.js';
import type { Settings } from '../settings.js';
import type { OwnResource } from './own-resources.js';

export interface ArchitectureOptions {
  readonly settings: Pick<
    Settings,
    'CORTEX_LEGACY' | 'CORTEX_LEGACY_SSE' | 'CORTEX_SERVER_NAME' | 'OAUTH_ISSUER' | 'audience' | 'canonicalUri'
  >;
  readonly catalog: CatalogReader;
  readonly federation: Pick<Federation, 'shelves' | 'refreshedAt'>;
}

const URI = 'cortex://architecture';

/**
 * How this server is built and how it stands now, for an agent that wants to know why it sees what it sees. Made anew for each reader; it
 * holds no URL of a backend and no token. Source: gateway, section 16.7.
 */
export const architectureResource = (options: ArchitectureOptions): OwnResource => ({
  uri: URI,
  listing: {
    uri: URI,
    name: 'architecture',
    title: 'How this server is built',
    description:
      'Who you are here, which backends there are and how they stand, how tokens, scopes and permissions work, and why. ' +
      'Made for you when you read it.',
    mimeType: 'text/markdown',
  },
  mimeType: 'text/markdown',
  read: (caller) => architectureText(options, caller),
});

function architectureText({ settings, catalog, federation }: ArchitectureOptions, caller: CallerContext): string {
  const { CORTEX_SERVER_NAME: name, OAUTH_ISSUER: issuer, canonicalUri, audience } = settings;
  const shelves = [...federation.shelves.values()];
  const tools = catalog.visible(caller);
  return `# ${plain(name)}

## Principle
One MCP endpoint in front of many applications. An application stays what it is and says what it offers; ${plain(name)} brings it to every
agent, under the identity of whoever calls, and no call is answered before its record is stored.

## Three tiers
1. **Clients**: agents and applications that speak any revision of MCP.
2. **The gateway** (this server): checks the token, decides by scopes, session, mode, rules and approvals, dispatches, records.
3. **What does the work**: Cortex's own services on an event log, and the federated backends over plain HTTP. Neither knows
   of MCP sessions or revisions.

## From login to backend
1. The client gets a token from the issuer ${code(issuer)}, for the resource ${code(canonicalUri)}.
2. The gateway checks signature, issuer, expiry and audience (${code(audience)}). A token for anything else is refused.
3. A backend gets that same token (\`passthrough\`) or none (\`none\`), as the table below says, and checks it itself. An agent's session
   uses only backends of the second kind.

## Federation
A backend declares its tools, prompts and resources; they are asked for anew in turns. Names are \`<id>_<tool>\` unless a prefix is configured;
resources live under the backend's own URI schemes. A backend that does not answer loses its items until it does, and no other is touched.
A definition that changes is held back until an operator has approved it.

## Permissions are decentralised
A scope decides what is listed and what may be called at all. What a person may do inside a backend, the backend decides: it says so when it
is asked, and \`whoami\` asks each of them.

## Current state
${stateOf({ settings, federation }, caller, tools.length)}

${tableOf(shelves, tools)}

## Why it is built this way
- Backends in any language, without an SDK: the contract is one POST route.
- One login and one audit trail for all of them; no shared service account that could do more than its caller.
- Revisions of the protocol come and go here alone.
- A fault stays where it is: one backend, one tool, one schema.
`;
}

function stateOf(
  { settings, federation }: Pick<ArchitectureOptions, 'settings' | 'federation'>,
  caller: CallerContext,
  tools: number,
): string {
  const { sub, person_id, pool, role, scopes, session } = caller;
  const { CORTEX_LEGACY, CORTEX_LEGACY_SSE } = settings;
  const older = LEGACY_REVISIONS.filter((revision) => CORTEX_LEGACY_SSE || revision !== '2024-11-05');
  const shelves = [...federation.shelves];
  const ids = (healthy: boolean): string =>
    listOf(shelves.filter(([, shelf]) => (shelf.healthy === true) === healthy).map(([id]) => id));
  return [
    ['Protocol revisions', listOf([MODERN, ...(CORTEX_LEGACY ? older : [])])],
    [
      'You are',
      session === undefined ? code(sub) : `the session ${code(session.sid)} of ${code(person_id ?? 'nobody')}`,
    ],
    ['Pool', code(pool)],
    ['Role', code(role)],
    ['Scopes granted', listOf([...scopes].sort())],
    ['Healthy backends', ids(true)],
    ['Unreachable backends', ids(false)],
    ['Tools that you see', String(tools)],
    ['Last refresh', federation.refreshedAt ?? 'none yet'],
  ]
    .map(([what, value]) => `- ${what}: ${value}`)
    .join('\n');
}

/** How many tools of each the caller sees: how many there are is not everybody's business. */
function tableOf(shelves: readonly Shelf[], tools: ReturnType<CatalogReader['visible']>): string {
  if (shelves.length === 0) return 'No backend is connected.';
  const seen = new Map<string, number>();
  for (const { shelf } of tools) seen.set(shelf, (seen.get(shelf) ?? 0) + 1);
  const rows = shelves.map(({ backend, healthy }) => {
    const state = healthy === null ? 'not asked yet' : healthy ? 'healthy' : 'unreachable';
    return `| ${backend.id} | ${state} | ${backend.tokenMode} | ${seen.get(backend.id) ?? 0} |`;
  });
  return ['| backend | state | token | tools that you see |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

const listOf = (items: readonly string[]): string => (items.length === 0 ? 'none' : items.map(code).join(', '));

/** What a token or an operator wrote stays one piece of text, whatever is in it. */
const plain = (text: string): string => text.replace(/[\p{Cc}\p{Cf}`|<>[\]*_#]+/gu, ' ').trim();
const code = (text: string): string => (text === '' ? 'none' : `\`${text.replace(/[\p{Cc}\p{Cf}`]+/gu, ' ')}\``);
