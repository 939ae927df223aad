export { TeamModule, teamService } from './team.module.js';
