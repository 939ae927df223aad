import type { Command } from 'commander';
import { elsewhere, type Make, type With } from './make.js';

/** The desk of those who triage what callers miss. */
export function gaps(cortex: Command, command: Make, json: With): void {
  const group = cortex.command('gaps').description('what callers miss: the tickets of report_missing_capability');
  const actions = () => import('../commands/gaps.js');
  const made = (name: string, description: string): Command => elsewhere(json(command(group, name, description)));
  made('list', 'newest first')
    .option('--status <status>', 'open, triaged, planned, resolved, wont_fix or duplicate')
    .option('--severity <severity>', 'blocking, inconvenient or nice_to_have')
    .option('--app <id>', 'about this backend; cortex for Cortex itself')
    .option('--limit <n>', 'at most so many (default 50)')
    .option('--cursor <cursor>', 'those behind a list that had more')
    .action(async (flags) => (await actions()).list(flags));
  made('show', 'one of them, whole')
    .argument('<ticket>')
    .action(async (ticket, flags) => (await actions()).show(ticket, flags));
  made('triage', 'say what becomes of it; whoever reported it sees that')
    .argument('<ticket>')
    .option('--status <status>', 'triaged, planned, resolved, wont_fix or duplicate')
    .option('--note <text>', 'what you think of it; an empty text takes it away, as of the next two')
    .option('--resolution <text>', 'how it ended')
    .option('--pr <url>', 'the change that ended it')
    .option('--duplicate-of <ticket>', 'the ticket that says the same')
    .action(async (ticket, flags) => (await actions()).triage(ticket, flags));
}
