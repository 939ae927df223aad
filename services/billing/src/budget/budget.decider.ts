import type { BudgetEvent, BudgetLimits } from '@cortex/contracts/cost';
import { defineDecider } from '@cortex/eventstore';

/** In force until somebody sets another one. */
export const DEFAULT_BUDGET: BudgetLimits = { daily_usd: 300, monthly_usd: 8000 };

/** As `budget.json` writes them. */
export interface Budgets extends BudgetLimits {
  projects: Readonly<Record<string, BudgetLimits>>;
}

export type BudgetCommand =
  /** `project` null: the global budget. */
  | { type: 'SetBudget'; project: string | null; limits: BudgetLimits; by: string }
  | { type: 'ClearProjectBudget'; project: string; by: string }
  | { type: 'ReadBudgetFile'; sha256: string; budgets: Budgets; by: string };

interface State {
  global: BudgetLimits;
  projects: Readonly<Record<string, BudgetLimits>>;
  /** Of the last `budget.json` that was taken over. */
  file: string;
}

const same = (a: BudgetLimits | undefined, b: BudgetLimits): boolean =>
  a?.daily_usd === b.daily_usd && a.monthly_usd === b.monthly_usd;

/** All budgets of the installation; a project has both limits of its own or none. */
export const budget = defineDecider<BudgetCommand, BudgetEvent, State>({
  subject: 'billing.budget',
  initial: { global: DEFAULT_BUDGET, projects: {}, file: '' },
  decide(command, state) {
    const limitsOf = (project: string): BudgetLimits | undefined =>
      Object.hasOwn(state.projects, project) ? state.projects[project] : undefined;
    const set = (project: string | null, { daily_usd, monthly_usd }: BudgetLimits, by: string): BudgetEvent[] => {
      const limits = { daily_usd, monthly_usd };
      if (same(project === null ? state.global : limitsOf(project), limits)) return [];
      const scope = project === null ? 'global' : 'project';
      return [{ type: 'BudgetSet', data: { scope, project, ...limits, by } }];
    };
    const clear = (project: string, by: string): BudgetEvent[] =>
      limitsOf(project) ? [{ type: 'ProjectBudgetCleared', data: { project, by } }] : [];
    switch (command.type) {
      case 'SetBudget':
        return set(command.project, command.limits, command.by);
      case 'ClearProjectBudget':
        return clear(command.project, command.by);
      case 'ReadBudgetFile': {
        const { sha256, budgets, by } = command;
        // What was set by command since holds until the file says something new.
        if (sha256 === state.file) return [];
        const named = Object.entries(budgets.projects);
        const gone = Object.keys(state.projects).filter((project) => !Object.hasOwn(budgets.projects, project));
        return [
          ...set(null, budgets, by),
          ...named.flatMap(([project, limits]) => set(project, limits, by)),
          ...gone.flatMap((project) => clear(project, by)),
          { type: 'BudgetFileRead', data: { sha256 } },
        ];
      }
    }
  },
  evolve(state, { type, data }) {
    switch (type) {
      case 'BudgetSet': {
        const limits = { daily_usd: data.daily_usd, monthly_usd: data.monthly_usd };
        if (data.project === null) return { ...state, global: limits };
        return { ...state, projects: { ...state.projects, [data.project]: limits } };
      }
      case 'ProjectBudgetCleared': {
        const left = Object.entries(state.projects).filter(([project]) => project !== data.project);
        return { ...state, projects: Object.fromEntries(left) };
      }
      case 'BudgetFileRead':
        return { ...state, file: data.sha256 };
    }
  },
});
