import { readFileSync } from 'node:fs';

const ASSETS = new URL('../../assets/', import.meta.url);
const cache = new Map<string, Buffer>();

/** `/icon-light.png` or `/icon-dark.png`: files of the package, so that a deployment may put its own in their place. */
export function icon(path: string): Buffer | null {
  if (path !== '/icon-light.png' && path !== '/icon-dark.png') return null;
  let bytes = cache.get(path);
  if (bytes === undefined) cache.set(path, (bytes = readFileSync(new URL(`.${path}`, ASSETS))));
  return bytes;
}
