import { invalidArgument } from '@cortex/contracts';
import type { ReferenceExpression, SelectQueryBuilder } from 'kysely';
import { z } from 'zod';

/** A value that rows are sorted by, as a cursor holds it. */
type Key = string | number | boolean;
interface Cursor {
  k: Key[];
  id: string;
}

const LONGEST = 2048;

/** The argument of a list tool that asks for the page behind another one. */
export const cursor = () =>
  z.string().describe('`next_cursor` of the page before; leave it out for the first page').optional();

/** The result's field that goes with it. */
export const nextCursor = () =>
  z.string().nullable().describe('Send it as `cursor` for the rows behind these; null when there are none');

export interface PageOrder<DB, TB extends keyof DB> {
  /** Sort columns, most significant first. Every one is selected and never null. */
  order: readonly (readonly [column: ReferenceExpression<DB, TB> & string, direction: 'asc' | 'desc'])[];
  /** Selected too and unique in its workspace: ties break by it, ascending. */
  id: ReferenceExpression<DB, TB> & string;
}

export interface Page<Row> {
  rows: Row[];
  next_cursor: string | null;
}

/**
 * One page of a query. A cursor names the sort values of the last row seen, not a number of rows, so that what is added or
 * removed between two pages neither repeats nor hides another row. It is no secret and no proof: it is checked like any
 * argument, and the query's own conditions (the workspace's rows) hold as ever.
 * Errors: `invalid_argument` (cursor).
 */
export async function page<DB, TB extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, TB, Row>,
  args: { limit: number; cursor?: string | undefined },
  { order, id }: PageOrder<DB, TB>,
): Promise<Page<Row>> {
  const after = args.cursor === undefined ? undefined : readCursor(args.cursor, order.length);
  let rows = query;
  if (after) {
    const columns = [...order, [id, 'asc'] as const].map(([column, direction], i) => ({
      column,
      beyond: direction === 'asc' ? ('>' as const) : ('<' as const),
      value: (i < order.length ? after.k[i] : after.id) as never,
    }));
    rows = rows.where((eb) =>
      eb.or(
        columns.map(({ column, beyond, value }, i) =>
          eb.and([...columns.slice(0, i).map((same) => eb(same.column, '=', same.value)), eb(column, beyond, value)]),
        ),
      ),
    );
  }
  for (const [column, direction] of order) rows = rows.orderBy(column, direction);
  let found: Row[];
  try {
    found = await rows
      .orderBy(id, 'asc')
      .limit(args.limit + 1)
      .execute();
  } catch (error) {
    // Class 22: a value that the column's type cannot be, which only the cursor brought in.
    if (after && String((error as { code?: unknown }).code).startsWith('22')) throw malformed();
    throw error;
  }
  const last = found.length > args.limit ? found[args.limit - 1] : undefined;
  if (last === undefined) return { rows: found, next_cursor: null };
  const at = (column: string): Key =>
    keyOf((last as Record<string, unknown>)[column.slice(column.lastIndexOf('.') + 1)]);
  return {
    rows: found.slice(0, args.limit),
    next_cursor: writeCursor({ k: order.map(([column]) => at(column)), id: String(at(id)) }),
  };
}

/** base64url of `{"k":[sort values],"id":"last id"}`, for lists that are no rows of a table. */
export const writeCursor = (at: Cursor): string => Buffer.from(JSON.stringify(at)).toString('base64url');

/** `keys`: how many sort values the list has. Errors: `invalid_argument` (cursor). */
export function readCursor(text: string, keys: number): Cursor {
  if (text.length > LONGEST || !/^[A-Za-z0-9_-]+$/.test(text)) throw malformed();
  let read: unknown;
  try {
    read = JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    throw malformed();
  }
  const { k, id } = (read ?? {}) as Partial<Cursor>;
  const whole = Array.isArray(k) && k.length === keys && k.every(isKey) && typeof id === 'string';
  if (!whole) throw malformed();
  return { k, id };
}

const isKey = (value: unknown): value is Key =>
  typeof value === 'string' || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value));

function keyOf(value: unknown): Key {
  if (value instanceof Date) return value.toISOString();
  if (isKey(value)) return value;
  throw new Error('a column that a page is sorted by is null or not selected');
}

const malformed = () =>
  invalidArgument('cursor', 'is none that a list gave', 'send next_cursor of the page before as it is');
