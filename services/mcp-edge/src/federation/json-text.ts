const QUOTE = 34;
const BACKSLASH = 92;
const SPACE = 32;
const OPEN = new Set([123, 91]);
const CLOSE = new Set([125, 93]);
const COMMA = 44;
const COLON = 58;

/**
 * The values of a backend reach a client as they were written: a number beyond 2^53, `1.0` and the order of keys that look like numbers do
 * not survive `JSON.parse`. So these work on the text. All of them expect valid JSON: parse it first.
 */

/** The same JSON without white space between its tokens, so that it may stand in one line of a stream. */
export function compact(json: string): string {
  let out = '';
  let from = 0;
  for (let i = 0; i < json.length; i++) {
    const code = json.charCodeAt(i);
    if (code === QUOTE) i = endOfString(json, i);
    else if (code <= SPACE) {
      out += json.slice(from, i);
      while (json.charCodeAt(i + 1) <= SPACE) i++;
      from = i + 1;
    }
  }
  return from === 0 ? json : out + json.slice(from);
}

/** The members of a compact object as texts. Of a key that stands twice the last counts, as in `JSON.parse`. */
export function membersOf(object: string): Map<string, string> {
  const members = new Map<string, string>();
  for (const member of partsOf(object)) {
    const end = endOfString(member, 0);
    const key = JSON.parse(member.slice(0, end + 1)) as string;
    if (member.charCodeAt(end + 1) !== COLON) throw new Error('no member of an object');
    members.set(key, member.slice(end + 2));
  }
  return members;
}

/** The items of a compact array, or the members of a compact object with their keys, as texts. */
export function partsOf(json: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 1;
  for (let i = 0; i < json.length; i++) {
    const code = json.charCodeAt(i);
    if (code === QUOTE) i = endOfString(json, i);
    else if (OPEN.has(code)) depth++;
    else if (CLOSE.has(code)) depth--;
    else if (code === COMMA && depth === 1) {
      parts.push(json.slice(from, i));
      from = i + 1;
    }
  }
  if (json.length > 2) parts.push(json.slice(from, -1));
  return parts;
}

/** Index of the quote that closes the string which begins at `start`. */
function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end >= 0; end = json.indexOf('"', end + 1)) {
    let slashes = 0;
    while (json.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return end;
  }
  throw new Error('a string without an end');
}
