import { failedPrecondition, invalidArgument, notFound } from '@cortex/contracts';
import type { GapEvent, GapNotes, GapReport, GapSeverity, GapStatus } from '@cortex/contracts/gap';
import { defineDecider, redact } from '@cortex/eventstore';
import { isEnded, movesOf } from './moves.js';

/** What an operator asks for; what is left out stays. */
export interface GapTriage extends GapNotes {
  status?: GapStatus;
  /** Another ticket; the command's sender has seen that it is there. */
  duplicateOf?: string;
}

/** What can be done about a ticket. */
export type GapCommand =
  /** `again`: the reporter has said it before, within the day. */
  | { type: 'ReportGap'; report: GapReport; reporter: string; again: boolean }
  | { type: 'NoteBackendGap'; report: GapReport; reporter: string; backend: string; backend_ticket_id: string }
  /** `attempt`: by which whoever sends it knows whether it is the first. */
  | { type: 'BeginNotice'; attempt: string }
  | { type: 'EndNotice'; delivered: boolean; problem: string | null }
  | { type: 'TriageGap'; triage: GapTriage };

type Notice = 'none' | 'begun' | 'delivered' | 'failed';
/** As the log has them, so without a secret that was written into one. */
type Notes = Required<GapNotes>;
/** A ticket that is kept here. */
export interface Gap {
  status: GapStatus;
  severity: GapSeverity;
  notice: Notice;
  notes: Notes;
  duplicate_of: string | null;
}
/** `elsewhere`: a backend keeps the ticket, and only its notice is ours. */
export type GapState = { status: 'none' } | { status: 'elsewhere'; severity: GapSeverity; notice: Notice } | Gap;

const NO_NOTES: Notes = { triageNote: null, resolutionNote: null, resolvedPrUrl: null };

/** A ticket about what cannot be done: reported, told of at most once, triaged by operators. */
export const gap = defineDecider<GapCommand, GapEvent, GapState>({
  subject: 'ticket.gap',
  initial: { status: 'none' },
  descriptive: [
    'whatIWanted',
    'userIntent',
    'contextTool',
    'contextApp',
    'suggestedShape',
    'triageNote',
    'resolutionNote',
    'resolvedPrUrl',
    'problem',
  ],
  decide(command, state) {
    switch (command.type) {
      case 'ReportGap': {
        const { report, reporter, again } = command;
        // The first try may have been lost between the admission and this: then the repeat makes the ticket.
        if (state.status === 'none') return [{ type: 'GapReported', data: { ...report, reporter } }];
        return again ? [{ type: 'GapDeduplicated', data: {} }] : [];
      }
      case 'NoteBackendGap': {
        const { type: _, report, ...rest } = command;
        return state.status === 'none' ? [{ type: 'GapTakenByBackend', data: { ...report, ...rest } }] : [];
      }
      case 'BeginNotice':
        if (state.status === 'none' || state.severity !== 'blocking' || state.notice !== 'none') return [];
        return [{ type: 'GapNoticeBegun', data: { attempt: command.attempt } }];
      case 'EndNotice': {
        const { delivered, problem } = command;
        if (state.status === 'none' || state.notice !== 'begun') return [];
        return [{ type: 'GapNoticeEnded', data: { delivered, problem } }];
      }
      case 'TriageGap':
        return triaged(knownGap(state), command.triage);
    }
  },
  evolve(state, { type, data }) {
    switch (type) {
      case 'GapReported': {
        const { severity } = data;
        return { status: 'open', severity, notice: 'none', notes: NO_NOTES, duplicate_of: null };
      }
      case 'GapTakenByBackend':
        return { status: 'elsewhere', severity: data.severity, notice: 'none' };
      case 'GapDeduplicated':
        return state;
      case 'GapNoticeBegun':
        return state.status === 'none' ? state : { ...state, notice: 'begun' };
      case 'GapNoticeEnded':
        return state.status === 'none' ? state : { ...state, notice: data.delivered ? 'delivered' : 'failed' };
      case 'GapTriaged':
        return moved(state, 'triaged', data);
      case 'GapPlanned':
        return moved(state, 'planned', data);
      case 'GapResolved':
        return moved(state, 'resolved', data);
      case 'GapWontFix':
        return moved(state, 'wont_fix', data);
      case 'GapMarkedDuplicate': {
        const { duplicate_of, ...notes } = data;
        return isGap(state)
          ? { ...state, status: 'duplicate', duplicate_of, notes: { ...state.notes, ...notes } }
          : state;
      }
      case 'GapReopened':
        return moved(state, 'triaged', { resolutionNote: null, resolvedPrUrl: null, ...data }, null);
      case 'GapNoted':
        return isGap(state) ? moved(state, state.status, data) : state;
    }
  },
});

/** Whether there is a ticket that is kept here. */
export const isGap = (state: GapState): state is Gap => state.status !== 'none' && state.status !== 'elsewhere';

/** The ticket. Errors: `not_found` (ticketId). */
export function knownGap(state: GapState): Gap {
  if (isGap(state)) return state;
  throw notFound('ticketId', 'names no ticket about a missing capability', 'list them first');
}

function moved(state: GapState, status: GapStatus, notes: GapNotes, duplicate_of?: null): GapState {
  if (!isGap(state)) return state;
  return { ...state, status, notes: { ...state.notes, ...notes }, ...(duplicate_of === null && { duplicate_of }) };
}

function triaged(state: Gap, { status: asked, duplicateOf, ...given }: GapTriage): GapEvent[] {
  if (asked === undefined && duplicateOf === undefined && Object.keys(given).length === 0)
    throw invalidArgument(
      'body',
      'changes nothing',
      'give at least one of status, triageNote, resolutionNote, resolvedPrUrl, duplicateOf',
    );
  if (duplicateOf !== undefined && asked !== undefined && asked !== 'duplicate')
    throw invalidArgument('duplicateOf', `does not go with status ${asked}`, 'use status duplicate, or leave it out');
  const to = duplicateOf === undefined ? (asked ?? state.status) : 'duplicate';
  const original = duplicateOf ?? (to === state.status ? state.duplicate_of : null);
  const notes = changedNotes(state.notes, given);
  if (to === state.status && original === state.duplicate_of)
    return Object.keys(notes).length === 0 ? [] : [{ type: 'GapNoted', data: notes }];
  if (to !== state.status && !movesOf(state.status).includes(to))
    throw failedPrecondition(
      'status',
      `cannot go from ${state.status} to ${to}`,
      `from there it goes to ${movesOf(state.status).join(', ')}`,
      { reason: 'invalid_state', details: { from: state.status, allowed: movesOf(state.status) } },
    );
  return [arrival(state.status, to, notes, original)];
}

function arrival(from: GapStatus, to: GapStatus, data: GapNotes, duplicate_of: string | null): GapEvent {
  if (isEnded(from) && to === 'triaged') return { type: 'GapReopened', data };
  if (to === 'duplicate') return { type: 'GapMarkedDuplicate', data: { ...data, duplicate_of } };
  return { type: ARRIVALS[to], data };
}

/** Nothing goes to `open`, see the moves. */
const ARRIVALS = {
  open: 'GapTriaged',
  triaged: 'GapTriaged',
  planned: 'GapPlanned',
  resolved: 'GapResolved',
  wont_fix: 'GapWontFix',
} as const;

/** Compared as the log has them: a text whose secret was taken out is the same when it is sent again. */
function changedNotes(current: Notes, given: GapNotes): GapNotes {
  const names = Object.keys(current) as (keyof GapNotes)[];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = given[name];
      if (value === undefined || (value === null ? null : redact(value)) === current[name]) return [];
      return [[name, value]];
    }),
  );
}
