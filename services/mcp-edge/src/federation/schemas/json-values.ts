/** `JSON.parse` with the text of a number in reach, and a number that is written as its text was (both of ECMAScript 2026). */
interface Json {
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
  rawJSON(text: string): object;
}
const json = JSON as unknown as Json;

/** Reads JSON so that writing it again gives every number as it was, also one that no double can hold. */
export const readJson = (text: string): unknown =>
  json.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? json.rawJSON(source) : value,
  );

export const sameJson = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
