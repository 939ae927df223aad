import { defineService, ServiceKit } from '@cortex/service-kit';
import { Module } from '@nestjs/common';
import { BudgetFile } from './budget/budget-file.js';
import { clearProjectBudget } from './commands/clear-project-budget.js';
import { recordCost } from './commands/record-cost.js';
import { recordUsage } from './commands/record-usage.js';
import { setBudget } from './commands/set-budget.js';
import { config } from './config.js';
import { CostImport } from './costlog/cost-import.js';
import { Pruning } from './costlog/pruning.js';
import { BillingMetrics } from './metrics.js';
import { Prices } from './prices/prices.js';
import { budgets } from './projections/budgets.projection.js';
import { costEntries } from './projections/cost-entries.projection.js';
import { overspends } from './projections/overspends.projection.js';
import { migrations } from './projections/tables.js';
import { ownership } from './projections/ownership.js';
import { budgets as budgetsQuery } from './queries/budgets.js';
import { budgetWarning } from './reactors/budget-warning.reactor.js';
import { budgetWatch } from './reactors/budget-watch.reactor.js';
import { tools } from './tools/registry.js';

export const billingService = defineService({
  name: 'billing',
  config,
  tools,
  queries: [budgetsQuery],
  commands: [recordUsage, recordCost, setBudget, clearProjectBudget],
  projections: [costEntries, budgets, overspends, ownership.sessions, ownership.memberships],
  reactors: [budgetWatch, budgetWarning],
  migrations,
  providers: [BillingMetrics, Prices, BudgetFile, Pruning, CostImport],
});

@Module({ imports: [ServiceKit.forService(billingService)] })
export class BillingModule {}
