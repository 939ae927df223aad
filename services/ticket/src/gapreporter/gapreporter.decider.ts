import { hashedToken, resourceExhausted } from '@cortex/contracts';
import type { GapReporterEvent } from '@cortex/contracts/gap';
import { defineDecider } from '@cortex/eventstore';

/** Asks whether a report is a new ticket. */
export type GapReporterCommand = {
  type: 'AdmitGap';
  /** ISO 8601. */
  at: string;
  fingerprint: string;
  /** Of the ticket, should it be a new one. */
  ticket_id: string;
  caller: string;
};

interface Admitted {
  fingerprint: string;
  ticket_id: string;
  caller: string;
  at: string;
}
/** What was admitted of late. */
export interface GapReporterState {
  /** Those of the last day, oldest first. */
  recent: readonly Admitted[];
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** New tickets of one caller; a person may have several. */
export const NEW_PER_HOUR = 20;
/** Somebody with more callers than that in a day is remembered in part: the repeat of an early report becomes a ticket of its own. */
const REMEMBERED = 1_000;

/**
 * What one reporter has reported of late. One aggregate, so that of two equal reports at once only one becomes a ticket, and no burst
 * passes the limit. The ticket is made behind it: a crash between the two is made good by the next report of the same.
 */
export const gapReporter = defineDecider<GapReporterCommand, GapReporterEvent, GapReporterState>({
  subject: 'ticket.gapreporter',
  initial: { recent: [] },
  decide({ at, fingerprint, ticket_id, caller }, state) {
    if (admittedOf(state, fingerprint, at) !== undefined) return [];
    const hour = state.recent.filter((one) => one.caller === caller && since(one.at, at) < HOUR_MS);
    if (hour.length >= NEW_PER_HOUR) {
      const retry_after_ms = HOUR_MS - Math.max(0, since(hour[hour.length - NEW_PER_HOUR]!.at, at));
      throw resourceExhausted(
        undefined,
        `${NEW_PER_HOUR} new tickets an hour are the most`,
        `wait ${Math.ceil(retry_after_ms / 60_000)} minutes`,
        { reason: 'rate_limited', details: { limit: NEW_PER_HOUR, retry_after_ms } },
      );
    }
    return [{ type: 'GapAdmitted', data: { fingerprint, ticket_id, caller } }];
  },
  evolve({ recent }, { type, data, at }) {
    switch (type) {
      case 'GapAdmitted':
        return { recent: [...recent.filter((one) => since(one.at, at) < DAY_MS), { ...data, at }].slice(-REMEMBERED) };
    }
  },
});

/** The ticket in which the same was reported within the last day. */
export const admittedOf = (state: GapReporterState, fingerprint: string, at: string): string | undefined =>
  state.recent.findLast((one) => one.fingerprint === fingerprint && since(one.at, at) < DAY_MS)?.ticket_id;

/** A key that names somebody stands in a subject as a digest alone. */
export const reporterId = (reporter: string): string => hashedToken(reporter);

const since = (earlier: string, now: string): number => Date.parse(now) - Date.parse(earlier);
