import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { assertRegular } from '../files.js';
import { stringParam } from '../params.js';
import { absolutePath } from '../paths.js';

export async function statFile(params: Record<string, unknown>) {
  const path = absolutePath(stringParam(params, 'file_path'));
  const stats = await stat(path);
  assertRegular(stats);
  return { size: stats.size, name: basename(path), mtimeMs: stats.mtimeMs };
}
