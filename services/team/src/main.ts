import { runServices } from '@cortex/service-kit';
import { TeamModule, teamService } from './team.module.js';

await runServices([{ module: TeamModule, def: teamService }]);
