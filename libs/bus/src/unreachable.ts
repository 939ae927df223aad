import { unavailable, type CortexError } from '@cortex/contracts';
import { errors } from '@nats-io/transport-node';
import type { TlsFiles } from './tls.js';

/** Of certificates that end at no authority that this process knows. */
const UNKNOWN_AUTHORITY = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** Why no connection was made, and by which of our variables that changes: the words of the client and of Node name none. */
export function unreachable(servers: string, cause: unknown, files: TlsFiles = {}): CortexError {
  const say = (problem: string, fix: string) => unavailable('bus', `${problem} at ${servers}`, fix, { cause });
  const { code = '', message: text = String(cause) } = Object(cause) as Partial<NodeJS.ErrnoException>;
  if (UNKNOWN_AUTHORITY.has(code))
    return say(
      'shows a certificate of an unknown authority',
      `name the file of ${files.ca === undefined ? 'its authority' : 'the right authority'} in CORTEX_NATS_CA_FILE`,
    );
  if (cause instanceof errors.AuthorizationError)
    return say(`refuses the password that it is shown (${text})`, 'use the secrets that its users were made of');
  // A server that asks for a certificate says nothing to a client that shows none.
  const silent = cause instanceof errors.TimeoutError && servers.includes('tls://') && files.cert === undefined;
  const show = ', or name a certificate to show it in CORTEX_NATS_CERT_FILE and CORTEX_NATS_KEY_FILE';
  return say(`cannot be reached (${text})`, `start it, or correct the address${silent ? show : ''}`);
}
