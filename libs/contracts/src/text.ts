/** Lengths are counted in Unicode characters; an emoji is one, though a string holds it as two units. */

const HIGH_SURROGATES = /[\ud800-\udbff](?=[\udc00-\udfff])/g;

export function charCount(text: string): number {
  return text.length - (text.match(HIGH_SURROGATES)?.length ?? 0);
}

/** The first `count` characters. */
export function firstChars(text: string, count: number): string {
  if (text.length <= count) return text;
  let end = 0;
  for (let taken = 0; taken < count && end < text.length; taken++) end += text.codePointAt(end)! > 0xffff ? 2 : 1;
  return text.slice(0, end);
}

/** The last `count` characters. */
export function lastChars(text: string, count: number): string {
  if (text.length <= count) return text;
  let start = text.length;
  for (let taken = 0; taken < count && start > 0; taken++) {
    const pair = start > 1 && text.codePointAt(start - 2)! > 0xffff;
    start -= pair ? 2 : 1;
  }
  return text.slice(start);
}

// eslint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Shows control characters other than tab and line feed as `\xNN`, so that text from outside steers no terminal. */
export function showControls(text: string): string {
  return text.replace(CONTROLS, (c) => `\\x${c.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);
}
