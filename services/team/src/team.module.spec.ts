import { startsWithoutTools } from '@cortex/testing';
import { TeamModule, teamService } from './team.module.js';

startsWithoutTools({ module: TeamModule, def: teamService });
