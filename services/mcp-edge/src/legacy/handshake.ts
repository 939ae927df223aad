import { hash } from 'node:crypto';
import { isObject } from '@cortex/contracts/is-object';
import { serverInfo } from '../http/server-card.js';
import type { EdgeCore, LegacyRevision } from '../seams.js';
import type { Settings } from '../settings.js';
import { errorOf, resultOf, type Json, type Reply } from './message.js';
import { negotiate } from './revision.js';

/** What the edge offers in every legacy revision, also with an empty catalogue. Source: gateway, section 4.4. */
const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  logging: {},
  completions: {},
};

/** A name of these capabilities: the same in every release that offers the same. */
export const OFFERED = hash('sha256', JSON.stringify(CAPABILITIES), 'hex').slice(0, 16);

export interface Hello {
  protocol_version: LegacyRevision;
  client_capabilities: Json;
  client_info: Json;
}

/** Reads the params of `initialize`; `other` is what an unknown version is answered with. */
export function readHello(params: Json, other: LegacyRevision): Hello | Reply {
  const { protocolVersion, capabilities = {}, clientInfo = {} } = params;
  if (typeof protocolVersion !== 'string') {
    return errorOf(-32602, 'params.protocolVersion is missing; name the revision that you speak');
  }
  if (!isObject(capabilities)) return errorOf(-32602, 'params.capabilities must be an object');
  if (!isObject(clientInfo)) return errorOf(-32602, 'params.clientInfo must be an object');
  return {
    protocol_version: negotiate(protocolVersion, other),
    client_capabilities: capabilities,
    client_info: clientInfo,
  };
}

export const greet = (core: EdgeCore, settings: Settings, { protocol_version }: Hello): Reply =>
  resultOf({
    protocolVersion: protocol_version,
    capabilities: CAPABILITIES,
    serverInfo: serverInfo(settings),
    instructions: core.instructions(),
  });
