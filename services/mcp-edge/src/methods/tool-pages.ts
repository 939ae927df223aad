import { hash } from 'node:crypto';
import { listBytes } from '../catalog/list-size.js';
import { membersOf, partsOf } from '../federation/json-text.js';
import type { CallerContext } from '../seams.js';
import type { Pages } from './pages.js';

/** A prepared `tools/list` taken apart: the definitions as texts, and what else its result says. */
interface Parts {
  readonly tools: readonly string[];
  readonly rest: string;
  readonly version: string;
}
const taken = new WeakMap<Buffer, Parts>();

/** One page of a prepared list; the list itself where everything is on one. Throws the error of a bad cursor. */
export function pageOfTools(pages: Pages, list: Buffer, caller: CallerContext, cursor: unknown): Buffer {
  if (pages.size === 0 && cursor === undefined) return list;
  const { tools, rest, version } = partsOfList(list);
  const { items, nextCursor } = pages.page(tools, { method: 'tools/list', caller, version, cursor });
  const next = nextCursor === undefined ? '' : `,"nextCursor":${JSON.stringify(nextCursor)}`;
  return listBytes(`{"tools":[${items.join(',')}]${rest}${next}}`, items.length);
}

/** Worked out once per list, which is kept for all who see the same. */
function partsOfList(list: Buffer): Parts {
  let parts = taken.get(list);
  if (parts === undefined) {
    const members = membersOf(list.toString('utf8'));
    const tools = partsOf(members.get('tools') ?? '[]');
    members.delete('tools');
    const rest = [...members].map(([key, json]) => `,${JSON.stringify(key)}:${json}`).join('');
    taken.set(list, (parts = { tools, rest, version: hash('sha256', list, 'base64url') }));
  }
  return parts;
}
