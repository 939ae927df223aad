import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/**
 * The client's address: the socket's, or with N trusted proxies in front the N-th entry of `X-Forwarded-For` from the
 * right. What stands left of it anybody may have written. Source: gateway, section 11.4.
 */
export function clientIp(req: IncomingMessage, trustedHops: number): string {
  const socket = peerOf(req.socket);
  if (trustedHops === 0) return socket;
  const header = req.headers['x-forwarded-for'];
  const entries = (Array.isArray(header) ? header.join(',') : (header ?? '')).split(',').map((entry) => entry.trim());
  return entries.at(-trustedHops) || socket;
}

const peers = new WeakMap<Socket, string>();
/** Asked of the system once per connection, not once per request. */
function peerOf(socket: Socket): string {
  let peer = peers.get(socket);
  if (peer === undefined) {
    peer = socket.remoteAddress ?? '';
    // Empty before the connection and after its end: then it is to be asked again.
    if (peer !== '') peers.set(socket, peer);
  }
  return peer;
}

/** True when the TCP peer is this machine. */
export const isLoopbackPeer = (req: IncomingMessage): boolean =>
  /^(::ffff:)?127\.\d+\.\d+\.\d+$|^::1$/.test(req.socket.remoteAddress ?? '');
