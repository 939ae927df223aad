import { z } from 'zod';

/**
 * What may be touched in the spool of a machine. Nothing that anybody chose goes into a command but names of this form,
 * which no shell reads as anything else.
 */
export const SpoolName = z.string().regex(/^[A-Za-z0-9._-]{1,200}\.json$/, 'is no name of a spool file');

/** Bytes of a file; larger ones are named without their content. */
export const MOST_BYTES = 64 * 1024;
/** Characters of base64 of one page: below what a device keeps of an output, whole files only. */
const PAGE_CHARS = 150_000;
const PAGE_FILES = 200;

const FOLDER = 'cd "$HOME/.cortex/tmp/signals" 2>/dev/null || exit 0';
const C_LOCALE = 'LC_ALL=C; export LC_ALL; set +f';

/**
 * Prints `<name> <base64>` for each plain file behind `after`, in the order of their names, `<name> -` for one that is too
 * large or cannot be read, and a last line `more` where the page is full. Links are not followed.
 */
export const listScript = (after: string | null): string =>
  [
    FOLDER,
    C_LOCALE,
    `after='${after ?? ''}'; chars=0; count=0`,
    'for f in *.json; do',
    '  case $f in *[!A-Za-z0-9._-]*) continue ;; esac',
    '  [ ${#f} -le 205 ] && [ -f "./$f" ] && [ ! -L "./$f" ] || continue',
    '  [ -z "$after" ] || [ "$f" \\> "$after" ] || continue',
    `  if [ $chars -gt 0 ] && [ $chars -ge ${PAGE_CHARS - 90_000} ] || [ $count -ge ${PAGE_FILES} ]; then echo more; break; fi`,
    '  count=$((count + 1))',
    `  body=$(head -c ${MOST_BYTES + 1} < "./$f" 2>/dev/null | base64 | tr -d '\\n')`,
    `  if [ -z "$body" ] || [ \${#body} -gt ${Math.ceil(MOST_BYTES / 3) * 4} ]; then body=-; fi`,
    '  chars=$((chars + ${#body}))',
    '  printf \'%s %s\\n\' "$f" "$body"',
    'done',
  ].join('\n');

/** Removes these files of the spool and nothing else. */
export const removeScript = (names: readonly string[]): string =>
  [FOLDER, `rm -f -- ${names.map((name) => `'./${SpoolName.parse(name)}'`).join(' ')}`].join('\n');

export interface SpoolPage {
  files: { name: string; content: string | null }[];
  /** The last name, if there are more behind it. */
  next: string | null;
}

/** What a device printed; lines of another form are the device's own and dropped. */
export function readPage(output: string): SpoolPage {
  const lines = output.split('\n').filter((line) => line !== '');
  const files = lines.flatMap((line) => {
    const [name = '', body = '', ...rest] = line.split(' ');
    if (rest.length > 0 || !SpoolName.safeParse(name).success || !/^(-|[A-Za-z0-9+/]+={0,2})$/.test(body)) return [];
    const content = body === '-' ? null : Buffer.from(body, 'base64').toString('utf8');
    return [{ name, content: content !== null && content.length > MOST_BYTES ? null : content }];
  });
  const more = lines.at(-1) === 'more';
  return { files, next: more ? (files.at(-1)?.name ?? null) : null };
}
