import type { Provider } from 'oidc-provider';
import { isScope, OWNER_SCOPES } from '../../scopes.js';
import { messagePage } from './page.js';
import { isLoopback } from './resource.js';

/** Those of the library that are no right at Cortex. */
export const PROTOCOL_SCOPES = ['openid', 'offline_access'];

const UNKNOWN_CLIENT =
  'If it logged in here before, let the client forget its registration, then start again in the client.';

/** Those of the text that can be granted. */
export const grantable = (scope: unknown): string[] =>
  typeof scope === 'string' ? scope.split(' ').filter(isScope) : [];

interface Answer {
  set(name: string, value: string): void;
  type: string;
  body: unknown;
}
type Context = Parameters<Parameters<Provider['use']>[0]>[0];

/** The first request of a login, and what becomes of it while no person was asked. */
export async function begin(ctx: Context, next: () => Promise<void>, issuer: string): Promise<void> {
  const { scope = '', response_mode = 'query' } = ctx.query;
  if (response_mode !== 'query') return refuse(ctx, 'invalid_request', 'response_mode must be query');
  if (typeof scope === 'string') ctx.query = { ...ctx.query, scope: withDefault(scope) };
  await next();
  // Anybody can register an address and link here: without a person's answer no browser is sent on to another machine.
  const target = URL.parse(ctx.response.get('location') || issuer, issuer);
  if (target === null || (target.protocol === 'http:' && isLoopback(target.hostname))) return;
  ctx.remove('location');
  refuse(ctx, target.searchParams.get('error') ?? 'invalid_request', target.searchParams.get('error_description'));
}

function refuse(ctx: Context, error: string, description: string | null): void {
  ctx.status = 400;
  showError(ctx, error, description);
}

export function showError(ctx: Answer, error: string, description: string | null | undefined): void {
  const hint = error === 'invalid_client' ? `. ${UNKNOWN_CLIENT}` : '';
  const { html, csp } = messagePage('This login cannot go on', `${error}: ${description ?? 'no more is known'}${hint}`);
  ctx.set('content-security-policy', csp);
  ctx.type = 'html';
  ctx.body = html;
}

/** Who asks for no right at Cortex gets those that `cortex token` gives. */
function withDefault(scope: string): string {
  const asked = scope.split(' ').filter(Boolean);
  return asked.every((one) => PROTOCOL_SCOPES.includes(one)) ? [...asked, ...OWNER_SCOPES.split(' ')].join(' ') : scope;
}
