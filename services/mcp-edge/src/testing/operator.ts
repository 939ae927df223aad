import type { EdgeFixture } from './edge-fixture.js';

/** The secret of operators that specs give an edge. */
export const ADMIN_SECRET = 'the-secret-of-operators';

// oxlint-disable-next-line typescript/no-explicit-any -- what a route answered is looked at field by field
export type OperatorAnswer = { status: number; body: any };

/** One request to `/api/admin/…`, with the secret. */
export async function operator(
  edge: EdgeFixture,
  method: string,
  path: string,
  body?: unknown,
): Promise<OperatorAnswer> {
  const response = await fetch(`${edge.origin}/api/admin/${path}`, {
    method,
    headers: { 'x-cortex-admin-secret': ADMIN_SECRET },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
}
