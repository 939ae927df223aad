import { fence } from '@cortex/contracts/fence';
import { isoNow, randomHex16 } from '../calls/ids.js';
import type { CallerContext } from '../seams.js';
import type { Backend, FederatedTool } from './types.js';

/**
 * How text of a backend may reach this caller: to a person's client as it is, to an agent in a fence, whose prompt it will stand in.
 * Source: gateway, section 14.2.
 */
export function toldBy(backend: Backend, { session }: CallerContext): (text: string) => string {
  if (session === undefined) return (text) => text;
  return (text) => fence({ of: 'BACKEND', nonce: randomHex16(), source: backend.id, text });
}

/** Where a result comes from; under `cortex/provenance` in its `_meta`. */
export const provenanceOf = ({ backend, original, version, digest }: FederatedTool): Record<string, unknown> => ({
  'cortex/provenance': {
    backend: backend.id,
    tool: original,
    version,
    kind: 'contract',
    digest,
    servedAt: isoNow(),
  },
});

/** The same of a built-in. */
export const ownProvenance = (tool: string, version: string): Record<string, unknown> => ({
  'cortex/provenance': { backend: 'gateway', tool, version, servedAt: new Date().toISOString() },
});
