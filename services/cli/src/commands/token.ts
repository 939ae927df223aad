import { homeOf } from '../home.js';
import { print } from '../output.js';
import { makeToken, parseDuration } from '../token.js';

export function token(flags: { home?: string; sub?: string; scopes?: string; ttl: string }): void {
  const { sub, scopes } = flags;
  print(makeToken(homeOf(flags.home), process.env, { sub, scopes, ttlSeconds: parseDuration('--ttl', flags.ttl) }));
}
