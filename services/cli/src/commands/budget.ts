import { showControls } from '@cortex/contracts/text';
import { withAdmin } from '../admin.js';
import { CliError, EXIT } from '../exit.js';
import { homeOf } from '../home.js';
import { print, printJson, table, tell } from '../output.js';

interface Limits {
  daily_usd: number;
  monthly_usd: number;
}

interface Flags {
  home?: string;
  json?: boolean;
}

export interface SetFlags extends Flags {
  daily: string;
  monthly: string;
  project?: string;
}

export async function budgetShow(flags: Flags): Promise<void> {
  const { projects, ...global } = await withAdmin(homeOf(flags.home), ({ ask }) =>
    ask<Limits & { projects: Record<string, Limits> }>('cortex.query.billing.budgets', {}),
  );
  if (flags.json) return printJson({ ...global, projects });
  const row = (name: string, { daily_usd, monthly_usd }: Limits) => [
    showControls(name),
    String(daily_usd),
    String(monthly_usd),
  ];
  const rows = Object.entries(projects).map(([name, limits]) => row(name, limits));
  print(table([['project', 'USD a day', 'USD a month'], row('(all)', global), ...rows]));
}

export async function budgetSet(flags: SetFlags): Promise<void> {
  const limits = { daily_usd: amount('--daily', flags.daily), monthly_usd: amount('--monthly', flags.monthly) };
  const { project } = flags;
  const set = await withAdmin(homeOf(flags.home), ({ ask }) =>
    ask('cortex.cmd.billing.set_budget', { ...limits, ...(project !== undefined && { project }) }),
  );
  if (flags.json) return printJson(set);
  tell(
    `${project === undefined ? 'all projects' : showControls(project)}: ${limits.daily_usd} USD a day, ${limits.monthly_usd} USD a month`,
  );
}

export async function budgetClear(project: string, flags: Flags): Promise<void> {
  const cleared = await withAdmin(homeOf(flags.home), ({ ask }) =>
    ask('cortex.cmd.billing.clear_project_budget', { project }),
  );
  if (flags.json) return printJson(cleared);
  tell(`${showControls(project)} goes by the limits of all projects`);
}

function amount(option: string, given: string): number {
  const usd = given.trim() === '' ? Number.NaN : Number(given);
  if (Number.isFinite(usd) && usd > 0) return usd;
  throw new CliError(`${option} must be a positive amount of US dollars, it is ${JSON.stringify(given)}`, EXIT.usage);
}
