import { hash } from 'node:crypto';
import { listBytes, partsOfList } from '../catalog/list-bytes.js';
import type { CallerContext } from '../seams.js';
import type { Pages } from './pages.js';

const versions = new WeakMap<Buffer, string>();

/** One page of a prepared list; the list itself where everything is on one. Throws the error of a bad cursor. */
export function pageOfTools(pages: Pages, list: Buffer, caller: CallerContext, cursor: unknown): Buffer {
  if (pages.size === 0 && cursor === undefined) return list;
  const parts = partsOfList(list);
  if (parts === undefined) throw new Error('a list of tools that was not made as one cannot be cut into pages');
  const of = { method: 'tools/list', caller, version: versionOf(list), cursor };
  const { items, nextCursor } = pages.page(parts.tools, of);
  const next = nextCursor === undefined ? '' : `,"nextCursor":${JSON.stringify(nextCursor)}`;
  return listBytes(items, parts.rest + next);
}

/** Worked out once per list, which is kept for all who see the same. */
function versionOf(list: Buffer): string {
  let version = versions.get(list);
  if (version === undefined) versions.set(list, (version = hash('sha256', list, 'base64url')));
  return version;
}
