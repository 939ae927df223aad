export const COST_SOURCES = ['estimate', 'gateway'] as const;
export type CostSource = (typeof COST_SOURCES)[number];
export const BILLING_MODES = ['api', 'plan'] as const;
export type BillingMode = (typeof BILLING_MODES)[number];

/** One record of spending. Money in US dollars with at most six decimals; times ISO 8601. Source: agent-server, section 23. */
export interface CostRecord {
  timestamp: string;
  project: string;
  trigger: string | null;
  /** Null where no price is known. */
  cost_usd: number | null;
  num_turns: number | null;
  duration_s: number | null;
  backend: string | null;
  mode: BillingMode;
  /** `estimate` is derived from token counts, `gateway` is what the provider reported. */
  source: CostSource;
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  cache_creation_tokens: number;
  provider: string | null;
  model: string | null;
  session_id: string | null;
  /** The session that started this one. */
  owner_session_id: string | null;
  execution_id: string | null;
}

/** Events of `billing.cost`, one aggregate per session and key, in the session's workspace. */
export type CostEvent = { type: 'CostRecorded'; data: CostRecord & { entry_id: string } };

/** Events of `billing.costlog`, aggregate id `all`, in no workspace. */
export type CostLogEvent =
  /** Rows before that time are gone; the events stay. */
  | { type: 'CostEntriesPruned'; data: { before: string; count: number } }
  /** The records of an older installation were taken over; `skipped` lines of its file were none. */
  | { type: 'CostsImported'; data: { count: number; skipped: number } };

/** US dollars; both limits are positive. */
export interface BudgetLimits {
  daily_usd: number;
  monthly_usd: number;
}

/** Events of `billing.budget`, aggregate id `all`, in no workspace. */
export type BudgetEvent =
  | { type: 'BudgetSet'; data: BudgetLimits & { scope: 'global' | 'project'; project: string | null; by: string } }
  | { type: 'ProjectBudgetCleared'; data: { project: string; by: string } }
  /** `budget.json` as it stood there is in force; the same file is not read twice. */
  | { type: 'BudgetFileRead'; data: { sha256: string } };

/** Events of `billing.overspend`, one aggregate per budget and period, in no workspace: the use crossed the limit. */
export type OverspendEvent = {
  type: 'BudgetExceeded';
  data: {
    scope: 'global' | 'project';
    project: string | null;
    period: 'day' | 'month';
    /** `2026-03-01` or `2026-03`, in the server's zone. */
    starts: string;
    limit_usd: number;
    /** What had been spent when it was noticed. */
    spent_usd: number;
  };
};
