import { CliError, EXIT } from './exit.js';
import { homeOf } from './home.js';
import { readSecrets } from './secrets.js';
import { assertRunning } from './up/state.js';

export interface OperatorFlags {
  home?: string;
  /** Origin of a Cortex elsewhere; its secret is that of $CORTEX_ADMIN_SECRET. */
  url?: string;
  json?: boolean;
}

/** One request to a route of operators. `path` stands below `/api/admin/`. Fails with what the route says. */
export async function operator<T>(
  flags: OperatorFlags,
  method: 'GET' | 'POST' | 'PUT' | 'PATCH',
  path: string,
  body?: unknown,
): Promise<T> {
  const { origin, secret } = targetOf(flags);
  let response: Response;
  try {
    response = await fetch(`${origin}/api/admin/${path}`, {
      method,
      redirect: 'error',
      headers: { 'x-cortex-admin-secret': secret, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    throw new CliError(`${origin} does not answer (${cause})`, EXIT.failed);
  }
  const text = await response.text();
  const answer = parsed(text);
  if (response.ok) return answer as T;
  const { message, error, hint } = answer as Partial<Record<string, string>>;
  const said = message ?? hint ?? error ?? `HTTP ${response.status}`;
  const why = response.status === 401 ? `${origin} does not know this admin secret; see CORTEX_ADMIN_SECRET` : said;
  throw new CliError(why, EXIT.failed);
}

function parsed(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

function targetOf({ home: dir, url }: OperatorFlags): { origin: string; secret: string } {
  const given = process.env['CORTEX_ADMIN_SECRET'];
  if (url !== undefined) {
    if (!given) throw new CliError('CORTEX_ADMIN_SECRET is missing; set it to the admin secret of --url', EXIT.usage);
    return { origin: originOf(url), secret: given };
  }
  const home = homeOf(dir);
  const { endpoint } = assertRunning(home);
  return { origin: new URL(endpoint).origin, secret: given || readSecrets(home).admin_secret };
}

/** The secret goes along in the clear, so only to this machine without TLS. */
function originOf(text: string): string {
  let url: URL | undefined;
  try {
    url = new URL(text);
  } catch {
    // Said below.
  }
  const local = url !== undefined && ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname);
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && local)) return url.origin;
  throw new CliError(`--url must be https, or http on this machine; it is ${JSON.stringify(text)}`, EXIT.usage);
}
