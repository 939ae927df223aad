import { SCOPE_IMPLIES } from '@cortex/contracts';

/** A broad scope and those that it stands for. */
export type ScopeImplications = Readonly<Record<string, readonly string[]>>;

/**
 * Reads `CORTEX_SCOPE_IMPLIES`: `broad=narrow narrow2; other=...`. Throws a plain text that names the part at fault, for
 * the list of bad variables at boot.
 */
export function parseScopeImplies(text: string): ScopeImplications {
  const implies: Record<string, readonly string[]> = Object.create(null);
  for (const part of text.split(';').map((p) => p.trim())) {
    if (part === '') continue;
    const at = part.indexOf('=');
    const broad = part.slice(0, Math.max(at, 0)).trim();
    const narrow = part
      .slice(at + 1)
      .split(/\s+/)
      .filter(Boolean);
    if (at < 0 || broad === '' || /\s/.test(broad) || narrow.length === 0) {
      throw new Error(`"${part}" is no implication; write broad=narrow narrow2; other=...`);
    }
    implies[broad] = [...(implies[broad] ?? []), ...narrow];
  }
  return implies;
}

const narrowOf = (implies: ScopeImplications, scope: string): readonly string[] =>
  Object.hasOwn(implies, scope) ? (implies[scope] ?? []) : [];

/** All scopes that the granted ones stand for, themselves included: the built-in hierarchy and the deployment's. */
export function expandScopes(granted: Iterable<string>, implies: ScopeImplications = {}): ReadonlySet<string> {
  const all = new Set(granted);
  // A set is walked in order of insertion, what is added on the way included: this is the transitive closure.
  for (const scope of all) {
    for (const narrow of [...narrowOf(SCOPE_IMPLIES, scope), ...narrowOf(implies, scope)]) all.add(narrow);
  }
  return all;
}
