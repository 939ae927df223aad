import { readFileSync } from 'node:fs';
import type { z } from 'zod';

/** `problem` names field and line. */
export type Parsed<T> = { value: T } | { problem: string };

/** The file's text, or null when there is none. Other faults of the file system are thrown. */
export function readText(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** JSON that a person wrote: every fault is named by its field and its line, so that it is found at once. */
export function parseConfig<T extends z.ZodType>(text: string, schema: T): Parsed<z.output<T>> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return { problem: (error as Error).message };
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return { value: parsed.data };
  const faults = parsed.error.issues.map(({ path, message }) => {
    const line = lineOf(text, path.map(String));
    return `${path.join('.') || 'the file'} (line ${line}): ${message}`;
  });
  return { problem: faults.join('; ') };
}

/** The line of the innermost key of the path that stands in the text, from 1. */
function lineOf(text: string, path: readonly string[]): number {
  let at = 0;
  for (const key of path) {
    const quoted = JSON.stringify(key).replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    const found = new RegExp(`${quoted}\\s*:`).exec(text.slice(at));
    if (!found) break;
    at += found.index;
  }
  return text.slice(0, at).split('\n').length;
}
