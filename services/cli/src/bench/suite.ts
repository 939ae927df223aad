import type { AtRest } from './at-rest.js';
import type { Ratio, Row } from './figures.js';
import type { Scenario } from './scenario.js';
import type { Target } from './targets.js';

/** Numbers of connections of a round. With one it shows how long a call takes when nothing else runs. */
export const CONNECTIONS = [1, 16, 64];
/** At these requests per second, CPU and memory are judged. */
export const JUDGED = [16, 64];

/** A figure and the bound that it is held to. */
export interface Goal {
  what: string;
  /** Null: not measured in this run. */
  value: number | null;
  bound: 'at least' | 'at most';
  limit: number;
  reached: boolean | null;
}

/** A goal with its verdict; none where the figure was not measured. */
export const goal = (what: string, value: number | undefined, bound: Goal['bound'], limit: number): Goal => ({
  what,
  value: value ?? null,
  bound,
  limit,
  reached: value === undefined ? null : bound === 'at least' ? value >= limit : value <= limit,
});

/** What a run gave, for who judges it. */
export interface Seen {
  rows: readonly Row[];
  ratios: readonly Ratio[];
  atRest?: AtRest;
}

/** Targets that are measured side by side, and what is wanted of them. */
export interface Suite {
  name: string;
  what: string;
  /** Each with the numbers of connections at which it is visited; `full` ones only when all is asked for. */
  targets: readonly { target: Target; at: readonly number[]; full?: true }[];
  scenarios: readonly Scenario[];
  /** A run that measured this target also weighs a whole `up` at rest. */
  weighedWith?: string;
  /** Which of the measured targets is compared with which. */
  pairs(measured: readonly string[]): (readonly [target: string, floor: string])[];
  goals(seen: Seen): Goal[];
}
