import type { Definition, DefinitionFields, ItemKind } from '@cortex/contracts/definition';
import { canonical, digestOf } from './fingerprint.js';

/** Per hint: what an absent one means in MCP, and the value that asks for less care. */
const HINTS: Readonly<Record<string, { absent: boolean; loose: boolean }>> = {
  readOnlyHint: { absent: false, loose: true },
  destructiveHint: { absent: true, loose: false },
  idempotentHint: { absent: false, loose: true },
  openWorldHint: { absent: true, loose: false },
};

const annotationsOf = (fields: DefinitionFields): Record<string, unknown> => {
  const value: unknown = JSON.parse(fields['annotations'] ?? '{}');
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
};
const hint = (annotations: Record<string, unknown>, name: string): boolean => {
  const given = annotations[name];
  return typeof given === 'boolean' ? given : (HINTS[name]?.absent ?? false);
};

/** What a change of a definition asks less care for: names of hints, and `scope` for any other one. Source: gateway, section 17.3. */
export function loosened(kind: ItemKind, before: DefinitionFields, after: DefinitionFields): string[] {
  const scope = before['scope'] === after['scope'] ? [] : ['scope'];
  if (kind !== 'tool') return scope;
  const [old, now] = [annotationsOf(before), annotationsOf(after)];
  const hints = Object.entries(HINTS).filter(
    ([name, { loose }]) => hint(now, name) === loose && hint(old, name) !== loose,
  );
  return [...hints.map(([name]) => name), ...scope];
}

/** A tool's new definition with the hints and the scope of before in place of those that ask for less. */
export function withheld(before: DefinitionFields, after: DefinitionFields, names: readonly string[]): Definition {
  const fields: Record<string, string> = { ...after };
  const [old, now] = [annotationsOf(before), annotationsOf(after)];
  for (const name of names) {
    if (name === 'scope') fields['scope'] = before['scope'] ?? 'null';
    else if (typeof old[name] === 'boolean') now[name] = old[name];
    else delete now[name];
  }
  if (Object.keys(now).length > 0) fields['annotations'] = canonical(JSON.stringify(now));
  else delete fields['annotations'];
  return { digest: digestOf('tool', fields), fields, order: '' };
}
