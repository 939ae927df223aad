/** The name behind a client's own prefix, `mcp__<server>__<name>`; undefined where there is none. */
export function withoutClientPrefix(name: string): string | undefined {
  if (!name.startsWith('mcp__')) return undefined;
  const border = name.indexOf('__', 5);
  return border < 0 ? undefined : name.slice(border + 2);
}
