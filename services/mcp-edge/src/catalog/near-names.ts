const SILENT = new Set(['mcp', 'cortex']);

const tokensOf = (name: string): Set<string> =>
  new Set(
    name
      .toLowerCase()
      .split(/[^a-z0-9]+/)
      .filter((token) => token !== '' && !SILENT.has(token)),
  );

/** Up to five names close to a wrong one: shared words, plus 2 when one contains the other. Source: workspace-tools-2, section 2.1. */
export function nearNames(wrong: string, names: readonly string[]): string[] {
  const name = wrong.slice(0, 128).toLowerCase();
  const wanted = tokensOf(name);
  return names
    .map((candidate) => {
      const shared = [...tokensOf(candidate)].filter((token) => wanted.has(token)).length;
      const contains =
        name !== '' && (candidate.toLowerCase().includes(name) || name.includes(candidate.toLowerCase()));
      return { candidate, score: shared + (contains ? 2 : 0) };
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, 5)
    .map(({ candidate }) => candidate);
}
