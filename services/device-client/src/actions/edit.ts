import { conflict, invalidArgument } from '@cortex/contracts';
import type { ActionContext } from '../commands.js';
import { oneAtATime, readWhole, replaceFile, resolveTarget } from '../files.js';
import { instructionChain } from '../instructions.js';
import { booleanParam, stringParam } from '../params.js';
import { absolutePath } from '../paths.js';
import { binaryFile, decodeText, encodeText, mostlyCrlf, toCrlf, toLf } from '../text-file.js';

/** Replaces a literal text in a file, which keeps its line ends and encoding. */
export async function editFile(params: Record<string, unknown>, { home }: ActionContext) {
  const path = absolutePath(stringParam(params, 'file_path'));
  const oldString = stringParam(params, 'old_string');
  const newString = stringParam(params, 'new_string');
  const all = booleanParam(params, 'replace_all');
  if (oldString === '') throw invalidArgument('old_string', 'is empty', 'give the text to replace');
  const target = await resolveTarget(path);
  const replacements = await oneAtATime(target, async () => {
    const { bytes, stats } = await readWhole(target);
    const decoded = decodeText(bytes);
    if (decoded === null) throw binaryFile();
    const edited = replaceText(decoded.text, oldString, newString, all);
    await replaceFile(target, encodeText({ text: edited.text, encoding: decoded.encoding }), stats);
    return edited.replacements;
  });
  return { replacements, instructions: await instructionChain(path, home) };
}

/**
 * Looks in the text as if all its line ends were LF, and cuts in the text as it is: line ends outside the replaced places
 * stay, mixed ones too.
 */
export function replaceText(
  text: string,
  oldString: string,
  newString: string,
  all: boolean,
): { text: string; replacements: number } {
  const flat = toLf(text);
  const wanted = toLf(oldString);
  const places: number[] = [];
  for (let at = flat.indexOf(wanted); at !== -1; at = flat.indexOf(wanted, at + wanted.length)) {
    places.push(at);
    if (!all && places.length === 2) {
      throw conflict('old_string', 'occurs more than once', 'give more context or set replace_all');
    }
  }
  if (places.length === 0) throw conflict('old_string', 'is not in the file', 'read it again');

  const replacement = mostlyCrlf(text) ? toCrlf(newString) : newString;
  const original = originalPositions(text);
  let result = '';
  let end = 0;
  for (const place of places) {
    result += text.slice(end, original(place)) + replacement;
    end = original(place + wanted.length);
  }
  return { text: result + text.slice(end), replacements: places.length };
}

/** Position in `text` of a position in `toLf(text)`; before the CR of a CRLF. Asked in rising order. */
function originalPositions(text: string): (flat: number) => number {
  let passed = 0; // CRs that stand before the position
  let next = text.indexOf('\r\n');
  return (flat) => {
    while (next !== -1 && next - passed < flat) {
      passed++;
      next = text.indexOf('\r\n', next + 2);
    }
    return flat + passed;
  };
}
