import type { Federation } from '../federation/federation.js';
import type { Backend } from '../federation/types.js';
import type { CatalogReader } from '../seams.js';

/** The text of `server/discover` and `initialize`, in the order of gateway section 5.5. */
export function instructionsText(
  name: string,
  catalog: CatalogReader,
  federation: Pick<Federation, 'complete' | 'shelves'>,
): string {
  const builtins = catalog
    .all()
    .filter((tool) => tool.announced.builtin)
    .map((tool) => tool.name);
  const backends = backendsOf(federation);
  return [
    `${name} is one MCP server in front of many applications and Cortex's own services; every call is made in your own name and recorded.`,
    `Federated backends: ${backends.map(({ id }) => id).join(', ') || 'none yet'}.`,
    `Tools of a backend are named <id>_<tool>${backends.map(exception).join('')}. Built-in tools: ${builtins.join(', ') || 'none'}.`,
    "Cortex's own tools have bare names; find one with search_tool_bm25 or list_my_tools.",
    'The header X-Cortex-Backends shrinks the lists; it is not an access control.',
    'The header X-Cortex-Tool-Mode: search gives a compact list plus find_tools, and X-Cortex-Schema-Profile simpler schemas.',
    'Each backend offers <id>_get_help(topic?) where it is listed; asking it beats guessing.',
    "Stay with the tools that the user's task needs.",
  ].join('\n');
}

/** Those that answer; all that are configured while that is not known yet. */
const backendsOf = ({ complete, shelves }: Pick<Federation, 'complete' | 'shelves'>): Backend[] =>
  [...shelves.values()].filter(({ healthy }) => !complete || healthy === true).map(({ backend }) => backend);

/** A backend whose tools are named otherwise. */
const exception = ({ id, prefix }: Backend): string => (prefix === `${id}_` ? '' : `, those of ${id} ${prefix}<tool>`);
