import { AGENT_ROLES } from '@cortex/contracts/agent';
import { MEMORY_PERMISSIONS } from '@cortex/contracts/memory';
import { Option, type Command } from 'commander';
import type { Make, With } from './make.js';

/** What agents may do with facts. */
export function memory(cortex: Command, command: Make, json: With): void {
  const group = cortex.command('memory').description('what agents may do with the facts of a workspace');
  json(command(group, 'grant', 'what agents of a role may do with a domain'))
    .argument('<workspace>')
    .argument('<domain>', 'its name, such as auth-flow: in every repository, and before there is one too')
    .addOption(new Option('--role <role>', 'of the agents').choices(AGENT_ROLES).makeOptionMandatory())
    .addOption(new Option('--permission <what>').choices(MEMORY_PERMISSIONS).makeOptionMandatory())
    .action(async (id, domain, flags) => (await import('../commands/memory.js')).memoryGrant(id, domain, flags));
}
