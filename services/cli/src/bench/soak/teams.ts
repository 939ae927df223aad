import type { Team } from './crowd.js';
import type { Whole } from './whole.js';

/** Clients of one person: below what a person may have of sessions and of streams. */
const CLIENTS_OF_TEAM = 20;

/** As many as these clients need; those that are there already are taken again. */
export async function needTeams(whole: Whole, clients: number): Promise<Team[]> {
  const count = Math.ceil(clients / CLIENTS_OF_TEAM);
  await whole.makeTeams(count);
  return whole.teams.slice(0, count);
}
