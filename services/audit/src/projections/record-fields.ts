/** Fields of a call record that are columns of the same name. Source: gateway, section 20. */
const SHARED_TEXTS = [
  'target_app',
  'caller_sub',
  'caller_role',
  'caller_pool',
  'caller_email_hash',
  'client_id',
  'scope_used',
  'params_hash',
  'outcome',
  'error_code',
  'error_kind',
  'reason',
  'gate',
  'protocol_version',
  'origin',
  'session_id',
  'mcp_session_id',
  'era',
  'transport',
  'request_id',
  'trace_id',
  'replica',
  'task_id',
  'token_mode',
  'confirmation',
] as const;
const SHARED_COUNTS = ['result_bytes', 'round', 'catalog_version'] as const;

export const TOOL_CALL_TEXTS = [
  ...SHARED_TEXTS,
  'tool',
  'tool_original',
  'service',
  'mode',
  'decision',
  'source',
  'approved_by',
  'remembered_rule',
] as const;
export const TOOL_CALL_COUNTS = [...SHARED_COUNTS, 'args_bytes', 'deadline_ms'] as const;

export const REQUEST_TEXTS = [...SHARED_TEXTS, 'method', 'backends_filter', 'tool_mode', 'ip_hash'] as const;
export const REQUEST_COUNTS = [...SHARED_COUNTS, 'tools_listed', 'tokens_estimate'] as const;

/** Nullable columns of these names. */
export type Columns<Texts extends readonly string[], Counts extends readonly string[]> = {
  [Name in Texts[number]]: string | null;
} & { [Name in Counts[number]]: number | string | null };

/** Characters of a text that are kept: with four bytes each they still fit into an entry of an index. */
const LONGEST = 500;

/*
 * A record must never be what stops a view, and a client writes a part of it (the name of an unknown tool): each of these
 * gives what PostgreSQL takes, or null.
 */
export const asText = (value: unknown): string | null =>
  typeof value === 'string' ? value.slice(0, LONGEST).replaceAll('\0', '\uFFFD') : null;
export const asNumber = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;
const asCount = (value: unknown): number | null => (Number.isSafeInteger(value) ? (value as number) : null);
export const asFlag = (value: unknown): boolean | null => (typeof value === 'boolean' ? value : null);
export const asTexts = (value: unknown): string[] =>
  Array.isArray(value) ? value.map(asText).filter((text) => text !== null) : [];
export const asTime = (value: unknown): string | null => {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  const iso = Number.isNaN(time) ? '' : new Date(time).toISOString();
  return /^\d{4}-/.test(iso) ? iso : null;
};

/** Each field where it holds what its column takes, else null. */
export function columnsOf<const Texts extends readonly string[], const Counts extends readonly string[]>(
  record: object,
  texts: Texts,
  counts: Counts,
): Columns<Texts, Counts> {
  const fields = record as Readonly<Record<string, unknown>>;
  return Object.fromEntries([
    ...texts.map((name) => [name, asText(fields[name])]),
    ...counts.map((name) => [name, asCount(fields[name])]),
  ]) as Columns<Texts, Counts>;
}
