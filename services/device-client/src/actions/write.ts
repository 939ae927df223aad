import { dirname } from 'node:path';
import type { ActionContext } from '../commands.js';
import { assertRegular, makeFolders, oneAtATime, readWhole, replaceFile, resolveTarget, statOrNull } from '../files.js';
import { instructionChain } from '../instructions.js';
import { stringParam } from '../params.js';
import { absolutePath } from '../paths.js';
import { decodeText, mostlyCrlf, toCrlf } from '../text-file.js';

/** Creates or replaces a file; one that has mostly CRLF line ends keeps having them. */
export async function writeFileAction(params: Record<string, unknown>, { home }: ActionContext) {
  const path = absolutePath(stringParam(params, 'file_path'));
  const given = stringParam(params, 'content');
  // Text that JSON would blow up over the frame's limit comes as base64.
  const content = params['encoding'] === 'base64' ? Buffer.from(given, 'base64').toString('utf8') : given;
  const target = await resolveTarget(path);
  const written = await oneAtATime(target, async () => {
    const was = await statOrNull(target);
    if (was !== null) assertRegular(was);
    else await makeFolders(dirname(target));
    const bytes = Buffer.from(was !== null && (await hasCrlf(target)) ? toCrlf(content) : content, 'utf8');
    await replaceFile(target, bytes, was);
    return { bytes: bytes.length, created: was === null };
  });
  return { ...written, instructions: await instructionChain(path, home) };
}

async function hasCrlf(target: string): Promise<boolean> {
  try {
    const decoded = decodeText((await readWhole(target)).bytes);
    return decoded !== null && mostlyCrlf(decoded.text);
  } catch {
    return false; // too large or not readable: replaced as it comes
  }
}
