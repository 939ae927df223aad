/** What of a template decides whether a URI is one of it. */
export interface Pattern {
  /** Characters of its literal parts. */
  readonly literal: number;
  fits(uri: string): boolean;
}

/** A template with more expressions fits nothing: the time of a match grows with their number. */
const MAX_EXPRESSIONS = 20;

/** One or more characters that are in none of these; `list`: or several of them with commas between. */
interface Run {
  readonly none: string;
  readonly list?: boolean;
}
type Part = string | Run;

const ANYTHING: Run = { none: '\n\r\u2028\u2029' };

/**
 * A template of RFC 6570 as a pattern of URIs, as the SDKs understand it. Theirs is a regular expression; a backend chooses the template and
 * a client the URI, and `{+a}{+b}{+c}…` against some hundred characters would hold the process for years. Here each part walks once over the URI.
 */
export function patternFrom(template: string): Pattern {
  const literal = template.replace(/\{[^}]*\}/g, '').length;
  const parts = partsOf(template);
  // It is listed as its backend wrote it, and no URI is one of it.
  if (parts === undefined) return { literal, fits: () => false };
  return { literal, fits: (uri) => fits(parts, uri) };
}

function partsOf(template: string): Part[] | undefined {
  const parts: Part[] = [];
  let expressions = 0;
  for (let from = 0; from < template.length;) {
    const open = template.indexOf('{', from);
    if (open !== from) parts.push(template.slice(from, open === -1 ? undefined : open));
    if (open === -1) break;
    const close = template.indexOf('}', open);
    if (close === -1) return undefined;
    const added = partsOfExpression(template.slice(open + 1, close));
    expressions += added.filter((part) => typeof part !== 'string').length;
    if (expressions > MAX_EXPRESSIONS) return undefined;
    parts.push(...added);
    from = close + 1;
  }
  return parts;
}

function partsOfExpression(text: string): Part[] {
  const operator = /^[+#./?&]/.exec(text)?.[0] ?? '';
  const value = { none: '/,', list: text.includes('*') };
  switch (operator) {
    case '+':
    case '#':
      return [ANYTHING];
    case '.':
      return ['.', { none: '/,' }];
    case '/':
      return ['/', value];
    case '?':
    case '&':
      return text
        .slice(1)
        .split(',')
        .map((name) => name.replace('*', '').trim())
        .filter((name) => name !== '')
        .flatMap((name, i) => [`${i === 0 ? operator : '&'}${name}=`, { none: '&' }]);
    default:
      return [value];
  }
}

/** `at[i]` = 1 where the parts so far can have ended behind `i` characters. */
function fits(parts: readonly Part[], uri: string): boolean {
  let at = new Uint8Array(uri.length + 1);
  at[0] = 1;
  for (const part of parts) {
    const next = typeof part === 'string' ? behindText(part, uri, at) : behindRun(part, uri, at);
    if (next === undefined) return false;
    at = next;
  }
  return at[uri.length] === 1;
}

function behindText(text: string, uri: string, at: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  const next = new Uint8Array(at.length);
  let some = false;
  for (let i = uri.indexOf(text); i !== -1; i = uri.indexOf(text, i + 1)) {
    if (at[i] !== 1) continue;
    next[i + text.length] = 1;
    some = true;
  }
  return some ? next : undefined;
}

function behindRun({ none, list = false }: Run, uri: string, at: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  const next = new Uint8Array(at.length);
  let [some, inside, behindComma] = [false, false, false];
  for (let i = 0; i < uri.length; i++) {
    const char = uri.charAt(i);
    const began = inside || behindComma || at[i] === 1;
    behindComma = list && inside && char === ',';
    inside = began && !none.includes(char);
    if (!inside) continue;
    next[i + 1] = 1;
    some = true;
  }
  return some ? next : undefined;
}
