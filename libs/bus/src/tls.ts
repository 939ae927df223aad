import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import type { TlsOptions } from '@nats-io/transport-node';

/** Paths of PEM files; they are read anew for each connection, so a renewed certificate needs no restart. */
export interface TlsFiles {
  /** Who signed the server's certificate; without it, the authorities that Node knows. */
  ca?: string;
  /** What this client shows, for a server that asks; both or neither. */
  cert?: string;
  key?: string;
}

/** The addresses of a list separated by commas, as URLs; `host:port` alone is plain NATS. Throws TypeError for what is no address. */
export function busServers(servers: string): URL[] {
  const texts = servers.split(',').map((server) => server.trim());
  return texts.map((server) => new URL(server.includes('://') ? server : `nats://${server}`));
}

/**
 * What a connection to these servers needs, undefined for `nats://`. With it a server that offers no TLS is refused before a
 * password is sent, and so is one whose certificate is not made out to a server of the list: the client library alone would
 * compare the certificate of a server that is named by its address with "localhost".
 */
export function tlsTo(servers: string, files: TlsFiles = {}): TlsOptions | undefined {
  const urls = busServers(servers);
  if (!urls.some(({ protocol }) => protocol === 'tls:')) return undefined;
  const names = urls.map(({ hostname }) => hostname.replace(/^\[(.*)\]$/, '$1'));
  const identity = {
    checkServerIdentity: (_: string, certificate: PeerCertificate): Error | undefined => {
      const faults = names.map((name) => checkServerIdentity(name, certificate));
      return faults.includes(undefined) ? undefined : faults[0];
    },
  };
  return {
    ...(files.ca !== undefined && { caFile: files.ca }),
    ...(files.cert !== undefined && { certFile: files.cert }),
    ...(files.key !== undefined && { keyFile: files.key }),
    ...identity,
  };
}
