import { readYourWrites } from './read-your-writes.js';
import { rebuildRate } from './rebuild-rate.js';
import type { Scenario } from './scenario.js';
import { waitpoints } from './waitpoints.js';

export const SCENARIOS: readonly Scenario[] = [rebuildRate, readYourWrites, waitpoints];
