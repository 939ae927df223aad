import { resourceExhausted } from '@cortex/contracts';
import type { ActionContext } from '../commands.js';
import { readWhole } from '../files.js';
import { instructionChain } from '../instructions.js';
import { countParam, stringParam } from '../params.js';
import { absolutePath } from '../paths.js';
import { binaryFile, decodeText } from '../text-file.js';

const DEFAULT_LINES = 2000;
const WORDS = 25_000;

/** Reads text with line numbers, an image or a PDF; the first bytes tell which, not the name. */
export async function readFileAction(params: Record<string, unknown>, { home }: ActionContext) {
  const path = absolutePath(stringParam(params, 'file_path'));
  const { bytes } = await readWhole(path);
  const instructions = await instructionChain(path, home);
  const mimeType = mediaTypeOf(bytes);
  if (mimeType === 'application/pdf') {
    return { pdf: { data: bytes.toString('base64'), originalSize: bytes.length }, instructions };
  }
  if (mimeType !== null) {
    return { image: { data: bytes.toString('base64'), mimeType, originalSize: bytes.length }, instructions };
  }
  const decoded = decodeText(bytes);
  if (decoded === null) throw binaryFile();
  const lines = linesOf(decoded.text);
  const offset = countParam(params, 'offset') ?? 0;
  const shown = lines.slice(offset, offset + (countParam(params, 'limit') ?? DEFAULT_LINES));
  assertFits(shown, lines.length);
  return {
    content: shown.map((line, i) => `${offset + i + 1}\t${line}`).join('\n'),
    start_line: offset + 1,
    line_count: shown.length,
    total_lines: lines.length,
    instructions,
  };
}

function linesOf(text: string): string[] {
  if (text === '') return [];
  const lines = text.split('\n').map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** An answer of more than 25,000 words helps nobody; says how many lines would fit. */
function assertFits(lines: readonly string[], total: number): void {
  let words = 0;
  for (const [i, line] of lines.entries()) {
    words += line.match(/\S+/g)?.length ?? 0;
    if (words <= WORDS) continue;
    const fix =
      i === 0
        ? 'its first line alone is longer: cut it with remote_bash, or search it with remote_grep'
        : `give limit ${i}, or search it with remote_grep`;
    throw resourceExhausted(
      'file_path',
      `has over ${WORDS} words in the lines asked for (${total} lines in all)`,
      fix,
      {
        details: { total_lines: total, suggested_limit: Math.max(i, 1) },
      },
    );
  }
}

/** By the first bytes: an image type, PDF, or null. */
function mediaTypeOf(bytes: Buffer): string | null {
  const starts = (...signature: number[]): boolean => signature.every((byte, i) => bytes[i] === byte);
  const says = (text: string, at = 0): boolean => bytes.toString('latin1', at, at + text.length) === text;
  if (starts(0xff, 0xd8, 0xff)) return 'image/jpeg';
  if (starts(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)) return 'image/png';
  if (says('GIF87a') || says('GIF89a')) return 'image/gif';
  if (says('RIFF') && says('WEBP', 8)) return 'image/webp';
  // "BM" alone also begins many a text: a bitmap says its own size, and has zeros where it must.
  if (says('BM') && bytes.length >= 26 && bytes.readUInt32LE(6) === 0) return 'image/bmp';
  return says('%PDF') ? 'application/pdf' : null;
}
