import { expect, it } from '@jest/globals';
import type { BudgetEvent } from '@cortex/contracts/cost';
import { foldHistories } from '@cortex/testing/fold-histories';
import { specFor } from '@cortex/testing/spec-for';
import { budget, type BudgetCommand, type Budgets } from './budget.decider.js';

const given = specFor(budget);
const limits = (daily_usd: number) => ({ daily_usd, monthly_usd: daily_usd * 20 });
const set = (project: string | null, daily: number): BudgetCommand => ({
  type: 'SetBudget',
  project,
  limits: limits(daily),
  by: 'cli',
});
const wasSet = (project: string | null, daily: number, by = 'cli'): BudgetEvent => ({
  type: 'BudgetSet',
  data: { scope: project === null ? 'global' : 'project', project, ...limits(daily), by },
});
const cleared = (project: string, by = 'cli'): BudgetEvent => ({ type: 'ProjectBudgetCleared', data: { project, by } });
const read = (sha256: string, budgets: Budgets): BudgetCommand => ({
  type: 'ReadBudgetFile',
  sha256,
  budgets,
  by: 'budget.json',
});
const wasRead = (sha256: string): BudgetEvent => ({ type: 'BudgetFileRead', data: { sha256 } });

it('sets the limits of all projects, and those of one', () => {
  given().when(set(null, 10)).then(wasSet(null, 10));
  given().when(set('arm', 10)).then(wasSet('arm', 10));
});
it('records nothing when they are so already, the default too', () => {
  given(wasSet('arm', 10)).when(set('arm', 10)).thenNothing();
  given()
    .when({ type: 'SetBudget', project: null, limits: { daily_usd: 300, monthly_usd: 8000 }, by: 'cli' })
    .thenNothing();
});
it('clears the limits of a project once', () => {
  const clear: BudgetCommand = { type: 'ClearProjectBudget', project: 'arm', by: 'cli' };
  given(wasSet('arm', 10)).when(clear).then(cleared('arm'));
  given(wasSet('arm', 10), cleared('arm')).when(clear).thenNothing();
  given()
    .when({ ...clear, project: 'toString' })
    .thenNothing();
});
it('takes over what a file says that differs, and drops projects that it does not name', () => {
  const told = [wasSet(null, 20, 'budget.json'), wasSet('__proto__x', 7, 'budget.json'), cleared('leg', 'budget.json')];
  given(wasSet('arm', 10), wasSet('leg', 5))
    .when(read('f1', { ...limits(20), projects: { arm: limits(10), __proto__x: limits(7) } }))
    .then(...told, wasRead('f1'));
});
it('leaves what a command set after the file was read', () =>
  given(wasSet(null, 20, 'budget.json'), wasRead('f1'), wasSet(null, 30))
    .when(read('f1', { ...limits(20), projects: {} }))
    .thenNothing());

it('folds what was stored by this release to what it says', () => {
  expect(foldHistories(budget, new URL('history/', import.meta.url))).toEqual({
    '0001-set-read-and-cleared.json': { global: limits(100), projects: { arm: limits(10) }, file: 'f1' },
  });
});
