import type { CallMeta, ClientSaid, Era, Revision } from '../seams.js';

/** What a retry brings to the backend: the client's answers, and the backend's own state. */
export interface Opened {
  readonly inputResponses?: Readonly<Record<string, unknown>>;
  readonly requestState?: string;
}

/** The `context` of a request of the contract, level 2, as JSON text. Source: gateway, section 12.6. */
export function contextText(of: {
  requestId: string;
  era: Era;
  revision: Revision;
  meta: CallMeta;
  client: ClientSaid | undefined;
  opened: Opened;
  /** The name of the tool as the client used it. */
  toolName?: string;
}): string {
  const { requestId, era, revision, meta, client = {}, opened, toolName } = of;
  return JSON.stringify({
    requestId,
    era,
    protocolVersion: revision,
    clientInfo: client.info,
    clientCapabilities: client.capabilities,
    logLevel: client.log_level,
    wantsProgress: meta.progress_token !== undefined,
    ...opened,
    toolName,
  });
}
