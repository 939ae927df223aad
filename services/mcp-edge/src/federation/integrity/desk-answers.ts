import type { ItemKind } from '@cortex/contracts/definition';
import type { FieldDifference } from './difference.js';
import type { Finding } from './fingerprint.js';

/** An item that is held back, or is served without what it asks less care for. */
export interface QuarantineEntry {
  /** `<backend>/<original>`, with the kind between them for what is no tool. */
  readonly tool: string;
  readonly app: string;
  readonly kind: ItemKind;
  readonly exposed: string | null;
  /** Of the definition that waits. */
  readonly digest: string;
  readonly approved: string | null;
  readonly changed: readonly string[];
  readonly reasons: readonly string[];
  readonly partly: boolean;
  readonly firstSeenAt: string;
  readonly fields: readonly FieldDifference[];
  readonly findings: readonly Finding[];
}

/** A backend of which everything is held back, and nothing can be approved, until its approvals can be believed again. */
export interface Withheld {
  readonly backend: string;
  /** Why, and how to get out. */
  readonly why: string;
  /** All that it declares, named as in a `QuarantineEntry`. */
  readonly items: readonly Pick<QuarantineEntry, 'tool' | 'exposed'>[];
}

/** A backend of which nothing new or changed can be recorded now. */
export interface Waiting {
  readonly backend: string;
  readonly why: string;
  /** What is held back until then. */
  readonly items: readonly Pick<QuarantineEntry, 'tool' | 'exposed'>[];
}

export interface HistoryEntry {
  readonly digest: string;
  readonly firstSeenAt: string;
  /** When and by whom it was approved last. */
  readonly approvedAt?: string;
  readonly by?: string;
  /** Whether it is the approved one now; of none while approvals cannot be believed. */
  readonly inForce: boolean;
  /** Who began the approvals anew, where it was approved by being there then. */
  readonly startedOverBy?: string;
  /** Earlier approvals of it by others, oldest first. */
  readonly approvedBefore?: readonly { readonly at: string; readonly by: string }[];
  /** Against the one before it in time. */
  readonly diff: readonly FieldDifference[];
}
