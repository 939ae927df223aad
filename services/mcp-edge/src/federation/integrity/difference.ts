import type { DefinitionFields, ItemKind } from '@cortex/contracts/definition';
import { shown } from '@cortex/contracts/text-rules';
import { changedFields } from './fingerprint.js';

/** What changed in one field. `lines` are for a person: what shows nothing is written by its name. */
export interface FieldDifference {
  readonly field: string;
  /** The values themselves; null where there is none. */
  readonly old: unknown;
  readonly new: unknown;
  readonly lines: readonly string[];
}

/** Of words on both sides; more are shown as two whole texts. */
const MAX_CELLS = 1_000_000;
const MAX_LINES = 200;

const valueOf = (text: string | undefined): unknown => (text === undefined ? null : (JSON.parse(text) as unknown));

/** The fields of two definitions that differ, in the order of the fingerprint. Of the first one everything is new. */
export function difference(
  kind: ItemKind,
  before: DefinitionFields | undefined,
  after: DefinitionFields,
): FieldDifference[] {
  return changedFields(kind, before ?? {}, after).map((field) => {
    const [old, now] = [valueOf(before?.[field]), valueOf(after[field])];
    const hints = field === 'annotations' && kind === 'tool';
    const lines = hints ? hintLines(before === undefined ? undefined : old, now) : linesOf(old, now);
    const more = lines.length - MAX_LINES;
    return { field, old, new: now, lines: more > 0 ? [...lines.slice(0, MAX_LINES), `… and ${more} more`] : lines };
  });
}

function linesOf(old: unknown, now: unknown): string[] {
  if (typeof old === 'string' && typeof now === 'string') return [words(old, now)];
  const [a, b] = [new Map(leaves(old, '')), new Map(leaves(now, ''))];
  const paths = [...new Set([...a.keys(), ...b.keys()])];
  return paths.flatMap((path) => {
    const [was, is] = [a.get(path), b.get(path)];
    if (was === is) return [];
    const at = path === '' ? '' : `${shown(path)}: `;
    if (was === undefined) return [`+ ${at}${shown(is ?? '')}`];
    if (is === undefined) return [`- ${at}${shown(was)}`];
    const [text, other] = [JSON.parse(was) as unknown, JSON.parse(is) as unknown];
    const both = typeof text === 'string' && typeof other === 'string';
    return [`~ ${at}${both ? words(text, other) : `${shown(was)} -> ${shown(is)}`}`];
  });
}

/** Every value that is no container, by its JSON Pointer, as JSON; an empty container is one too. */
function* leaves(value: unknown, path: string): Generator<[string, string]> {
  if (value === null && path === '') return;
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  if (entries.length === 0) yield [path, JSON.stringify(value)];
  for (const [key, below] of entries)
    yield* leaves(below, `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`);
}

const HINTS: Readonly<Record<string, readonly [yes: string, no: string, absent: boolean]>> = {
  readOnlyHint: ['changes nothing', 'may change something', false],
  destructiveHint: ['may destroy something', 'destroys nothing', true],
  idempotentHint: ['does no more when it is called again', 'does something each time', false],
  openWorldHint: ['reaches the outside world', 'stays inside', true],
};

/** `old` undefined: there was no definition before. */
function hintLines(old: unknown, now: unknown): string[] {
  const [a, b] = [recordOf(old), recordOf(now)];
  const hints = Object.entries(HINTS).flatMap(([name, [yes, no, absent]]) => {
    const means = (record: Record<string, unknown>): string =>
      (typeof record[name] === 'boolean' ? record[name] : absent) ? yes : no;
    const says = (record: Record<string, unknown>, said: string): string =>
      typeof record[name] === 'boolean'
        ? `${said} that it ${means(record)}`
        : `${said} nothing, so it ${means(record)}`;
    if (old === undefined) return typeof b[name] === 'boolean' ? [`${name}: ${says(b, 'it says')}`] : [];
    if (means(a) === means(b)) return [];
    return [`${name}: ${says(a, 'it said')}, ${says(b, 'now it says')}`];
  });
  const rest = (record: Record<string, unknown>): unknown => {
    const others = Object.entries(record).filter(([name, value]) => !(name in HINTS && typeof value === 'boolean'));
    return others.length === 0 ? null : Object.fromEntries(others);
  };
  const others = linesOf(rest(a), rest(b));
  // A default that is said now and was meant before is a change of the text alone.
  return hints.length + others.length > 0 ? [...hints, ...others] : linesOf(old ?? null, now);
}

const recordOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};

/** One text in which `[-…-]` went and `{+…+}` came. */
function words(old: string, now: string): string {
  const [a, b] = [old.split(/(?<=\s)(?=\S)/), now.split(/(?<=\s)(?=\S)/)];
  if (a.length * b.length > MAX_CELLS) return `[-${shown(old)}-] {+${shown(now)}+}`;
  // Longest common subsequence of words, from the end.
  const width = b.length + 1;
  const common = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i * width + j] =
        a[i] === b[j]
          ? (common[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(common[(i + 1) * width + j] ?? 0, common[i * width + j + 1] ?? 0);
  const parts: string[] = [];
  let [gone, come] = ['', ''];
  const flush = (): void => {
    if (gone !== '') parts.push(`[-${shown(gone)}-]`);
    if (come !== '') parts.push(`{+${shown(come)}+}`);
    gone = come = '';
  };
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      flush();
      parts.push(shown(a[i] ?? ''));
      i++;
      j++;
    } else if (
      j < b.length &&
      (i === a.length || (common[i * width + j + 1] ?? 0) >= (common[(i + 1) * width + j] ?? 0))
    ) {
      come += b[j++] ?? '';
    } else gone += a[i++] ?? '';
  }
  flush();
  return parts.join('');
}
