import type { Migrations } from '@cortex/eventstore';

/** None yet: the schema holds its checkpoints and snapshots. */
export const migrations: Migrations = {};
