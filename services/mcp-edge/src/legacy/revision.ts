import { LEGACY_REVISIONS, MODERN, type LegacyRevision } from '../seams.js';

/** The first whose clients know an empty event, and come back when a connection ends before its stream. */
export const POLLING: LegacyRevision = '2025-11-25';

export const SUPPORTED: readonly string[] = [MODERN, ...LEGACY_REVISIONS];

const known = (version: unknown): version is LegacyRevision =>
  LEGACY_REVISIONS.some((revision) => revision === version);

/** The client's revision where we speak it, else `other`: the answer to `initialize`. */
export const negotiate = (requested: string, other: LegacyRevision): LegacyRevision =>
  known(requested) ? requested : other;

/**
 * The revision of a request: its session's, whatever the header says; without a session the header's, else 2025-03-26,
 * which knew no such header. Null when the header names one that we do not speak. Source: gateway, section 3.3.
 */
export function revisionOf(header: string | undefined, session: LegacyRevision | undefined): LegacyRevision | null {
  const version = header?.trim();
  if (version !== undefined && version !== '' && !known(version)) return null;
  return session ?? (known(version) ? version : '2025-03-26');
}
