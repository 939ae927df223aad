import { CliError, EXIT } from './exit.js';

/** The JSON object of a flag or of stdin; nothing at all is an empty one. */
export function parseArguments(text: string, source: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = text.trim() === '' ? {} : JSON.parse(text);
  } catch (cause) {
    const why = (cause as Error).message;
    throw new CliError(`${source} is no JSON: ${why}; give an object like '{"name":"value"}'`, EXIT.usage, { cause });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new CliError(`${source} is no JSON object; give one like '{"name":"value"}'`, EXIT.usage);
}

/**
 * A token as it was pasted, without blanks around it. What no header could carry is named with its place, since it cannot be seen: the
 * failure would look like a broken connection.
 */
export function bearerFlag(given: string | undefined, name = '--token'): string | undefined {
  const token = given?.trim();
  const at = token?.search(/[^\x21-\x7e]/u) ?? -1;
  if (token === undefined || at < 0) return token;
  const code = (token.codePointAt(at) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  throw new CliError(
    `${name} has a character that no token has, U+${code} at position ${at + 1}; copy it again`,
    EXIT.usage,
  );
}
