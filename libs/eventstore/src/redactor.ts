interface Shape {
  kind: string;
  pattern: RegExp;
  /** Keeps what is before the secret. */
  replace?: (match: string, ...groups: string[]) => string;
}

// Bounded on both sides: unbounded, a long run of such names would take quadratic time.
const SECRET_NAME =
  '[\\w.-]{0,40}(?:password|passwd|passphrase|pwd|secret(?!ar)|token(?!s|_?(?:count|limit|type|usage|budget))|api[_-]?key|' +
  'access[_-]?key|private[_-]?key|client[_-]?key|session[_-]?key|credentials?|auth(?:orization)?(?![a-z])|cookie)[\\w.-]{0,40}';

const keepName = (kind: string) => (_match: string, before: string) => `${before}[redacted:${kind}]`;

/** In this order: whole blocks first, then known shapes, then values that only their name gives away. */
const SHAPES: readonly Shape[] = [
  { kind: 'pem', pattern: /-----BEGIN [A-Z0-9 ]{1,64}-----[\s\S]*?(?:-----END [A-Z0-9 ]{1,64}-----|$)/g },
  {
    kind: 'url_credentials',
    pattern: /(\b[a-z][a-z0-9+.-]{0,31}:\/\/)[^\s/@"'<>]*@/gi,
    replace: (_m, scheme) => `${scheme}[redacted:url_credentials]@`,
  },
  { kind: 'jwt', pattern: /\beyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?/g },
  { kind: 'github_token', pattern: /\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})/g },
  { kind: 'gitlab_token', pattern: /\bgl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas)-[A-Za-z0-9_-]{16,}/g },
  { kind: 'slack_token', pattern: /\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-[A-Za-z0-9-]{10,}/g },
  { kind: 'aws_key', pattern: /\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b/g },
  { kind: 'google_key', pattern: /\bAIza[A-Za-z0-9_-]{30,}|\bya29\.[A-Za-z0-9_-]{20,}/g },
  { kind: 'api_key', pattern: /\b(?:sk|pk|rk)[-_](?:live|test|ant|proj|or|svcacct)?[-_]?[A-Za-z0-9_-]{16,}/g },
  { kind: 'npm_token', pattern: /\bnpm_[A-Za-z0-9]{30,}/g },
  { kind: 'hf_token', pattern: /\bhf_[A-Za-z0-9]{30,}/g },
  { kind: 'age_key', pattern: /\bAGE-SECRET-KEY-1[A-Z0-9]{20,}/g },
  { kind: 'nats_seed', pattern: /\bS[ACNOUPX][A-Z2-7]{56}\b/g },
  {
    kind: 'webhook',
    pattern: /(\bhttps:\/\/hooks\.slack\.com\/(?:services|workflows)\/)[^\s"'<>]+/g,
    replace: keepName('webhook'),
  },
  {
    kind: 'bearer',
    pattern: /(\b(?:bearer|basic|token)\s+)(?!\[redacted)(?=[^\s]{0,200}[0-9=])[A-Za-z0-9._~+/=:-]{12,}/gi,
    replace: keepName('bearer'),
  },
  {
    kind: 'secret',
    // name=value, name: value, "name": "value", --name value, Name: value of a header.
    pattern: new RegExp(
      `((?:^|[\\s"'{,;&?(\\[])(?:--?)?["']?${SECRET_NAME}["']?\\s*(?:=>|[:=])\\s*|(?:^|\\s)--?${SECRET_NAME}\\s+)` +
        `(?!["']?\\[redacted)(?:(?:bearer|basic|digest|token)\\s+[^\\s"']+|"(?:[^"\\\\]|\\\\.)*"|'(?:[^'\\\\]|\\\\.)*'|[^\\s"',;&)}\\]]+)`,
      'gi',
    ),
    replace: keepName('secret'),
  },
  {
    kind: 'secret',
    pattern: /((?:^|\s)(?:-u|--user)[\s=]+["']?[^\s:"']+:)(?!\[redacted)[^\s"']+/g,
    replace: keepName('secret'),
  },
];

/** Descriptive text is short; what is longer is looked through up to here and cut, since nobody describes in more. */
const LIMIT = 64 * 1024;

/**
 * Replaces secrets in descriptive text by `[redacted:<kind>]`: known token shapes, PEM blocks, user info of URLs, and
 * values whose name says that they are secret. Redacting twice changes nothing.
 */
export function redact(text: string): string {
  let clean = text.length > LIMIT ? `${text.slice(0, LIMIT)}… [cut]` : text;
  for (const { kind, pattern, replace } of SHAPES) {
    clean = replace ? clean.replace(pattern, replace) : clean.replace(pattern, `[redacted:${kind}]`);
  }
  return clean;
}

/** Names of fields that describe rather than document: their text passes the redactor in every commit. */
export const DESCRIPTIVE: readonly string[] = [
  'target',
  'description',
  'label',
  'error',
  'message',
  'reason',
  'title',
  'argv',
  'url',
  'headers',
];

const SECRET_FIELD = new RegExp(`^${SECRET_NAME}$`, 'i');

/**
 * A copy of event data in which every text at or below a descriptive field is redacted; the same object when none is.
 * What is at or below a field of `documents` is kept as it is.
 */
export function redactFields(
  data: unknown,
  fields: ReadonlySet<string>,
  documents: ReadonlySet<string> = NONE,
  inside = false,
): unknown {
  if (typeof data === 'string') return inside ? redact(data) : data;
  if (Array.isArray(data)) {
    return inside
      ? redactList(data, fields, documents)
      : mapSame(data, (item) => redactFields(item, fields, documents));
  }
  if (typeof data !== 'object' || data === null) return data;
  let copy: Record<string, unknown> | undefined;
  for (const [key, value] of Object.entries(data)) {
    if (documents.has(key)) continue;
    const within = inside || fields.has(key);
    // `headers: { authorization: "..." }`: here only the key tells that the value is secret.
    const named = inside && typeof value === 'string' && value !== '' && SECRET_FIELD.test(key);
    const clean =
      named && !value.startsWith('[redacted') ? '[redacted:secret]' : redactFields(value, fields, documents, within);
    if (clean !== value) (copy ??= { ...data })[key] = clean;
  }
  return copy ?? data;
}

const NONE: ReadonlySet<string> = new Set();

/** In an argv the secret may stand in the word after its option. */
function redactList(list: unknown[], fields: ReadonlySet<string>, documents: ReadonlySet<string>): unknown[] {
  let secretNext = false;
  return mapSame(list, (item) => {
    const hide = secretNext && typeof item === 'string' && !item.startsWith('[redacted');
    secretNext = typeof item === 'string' && item.startsWith('-') && SECRET_FIELD.test(item.replace(/^-+/, ''));
    return hide ? '[redacted:secret]' : redactFields(item, fields, documents, true);
  });
}

function mapSame(list: unknown[], fn: (item: unknown) => unknown): unknown[] {
  const mapped = list.map(fn);
  return mapped.every((item, index) => item === list[index]) ? list : mapped;
}
