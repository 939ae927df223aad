/** How much depends on it: `blocking` stops somebody's work and is told to the platform team. */
export const GAP_SEVERITIES = ['blocking', 'inconvenient', 'nice_to_have'] as const;
export type GapSeverity = (typeof GAP_SEVERITIES)[number];

/** What became of a ticket; `open` until somebody has looked at it. */
export const GAP_STATUSES = ['open', 'triaged', 'planned', 'resolved', 'wont_fix', 'duplicate'] as const;
export type GapStatus = (typeof GAP_STATUSES)[number];

/** What somebody could not do. Texts as the caller wrote them, at most 4,000 characters each. */
export interface GapReport {
  whatIWanted: string;
  userIntent: string;
  severity: GapSeverity;
  contextTool: string | null;
  /** Id of a backend, or `cortex`. */
  contextApp: string | null;
  suggestedShape: string | null;
}

/** What operators write on a ticket; a member that is absent stays, null takes the text away. */
export interface GapNotes {
  triageNote?: string | null;
  resolutionNote?: string | null;
  resolvedPrUrl?: string | null;
}

/** Events of `ticket.gap`, one aggregate per ticket about a missing capability. Source: gateway, sections 16.3 and 16.5. */
export type GapEvent =
  /** `reporter`: the person, or the agent of nobody. */
  | { type: 'GapReported'; data: GapReport & { reporter: string } }
  /** Its reporter said the same again within the day. */
  | { type: 'GapDeduplicated'; data: Record<string, never> }
  /**
   * A backend that keeps its own tickets took a blocking one. It stands here only so that the platform team is told once; it is in no
   * list of ours.
   */
  | {
      type: 'GapTakenByBackend';
      data: GapReport & { reporter: string; backend: string; backend_ticket_id: string };
    }
  /** The platform team is about to be told; never twice, whatever becomes of it. */
  | { type: 'GapNoticeBegun'; data: { attempt: string } }
  /** `problem`: why it was not delivered. */
  | { type: 'GapNoticeEnded'; data: { delivered: boolean; problem: string | null } }
  | { type: 'GapTriaged'; data: GapNotes }
  | { type: 'GapPlanned'; data: GapNotes }
  | { type: 'GapResolved'; data: GapNotes }
  | { type: 'GapWontFix'; data: GapNotes }
  /** `duplicate_of`: the ticket that says the same, where one was named. */
  | { type: 'GapMarkedDuplicate'; data: GapNotes & { duplicate_of: string | null } }
  /** What was ended is triaged again; what was said of its end no longer holds. */
  | { type: 'GapReopened'; data: GapNotes }
  /** Notes alone; the status stays. */
  | { type: 'GapNoted'; data: GapNotes };

/** Event of `ticket.gapreporter`, one aggregate per reporter: what counts for repeats and for the limit per hour. */
export type GapReporterEvent = {
  type: 'GapAdmitted';
  data: {
    /** SHA-256 of what was wanted and of the tool; of a ticket that a backend keeps, our id of it. */
    fingerprint: string;
    ticket_id: string;
    /** SHA-256 of the caller key, or of the id of the backend that keeps the ticket. */
    caller: string;
  };
};
