import type { Command } from 'commander';
import { elsewhere, type Make, type With } from './make.js';

/** The list of tools, and the review of those that backends declare. */
export function tools(cortex: Command, command: Make, json: With): void {
  const group = json(command(cortex, 'tools', 'list the tools that a token may see'))
    .option('--token <jwt>', 'instead of one for the owner')
    .action(async (flags) => (await import('../commands/call.js')).tools(flags));
  const actions = () => import('../commands/tool-integrity.js');
  const made = (name: string, description: string): Command => elsewhere(json(command(group, name, description)));
  const TOOL = 'its name as it is listed, or <backend>/<original name>';
  made('pending', 'tools of backends that are held back, and why').action(async (_flags, self: Command) =>
    (await actions()).pending(self.optsWithGlobals()),
  );
  made('diff', 'what waits for an approval, against what is approved')
    .argument('<tool>', TOOL)
    .action(async (tool, _flags, self: Command) => (await actions()).diff(tool, self.optsWithGlobals()));
  made('approve', 'show what waits, and approve exactly that')
    .argument('<tool>', TOOL)
    .option('--digest <digest>', 'only if this is still what waits')
    .action(async (tool, _flags, self: Command) => (await actions()).approve(tool, self.optsWithGlobals()));
  made('history', 'every definition that it had, newest first, and who approved it')
    .argument('<tool>', TOOL)
    .action(async (tool, _flags, self: Command) => (await actions()).history(tool, self.optsWithGlobals()));
  made('rollback', 'approve an earlier definition again, and no other')
    .argument('<tool>', TOOL)
    .argument('<digest>', 'of the history; its first 8 digits are enough')
    .action(async (tool, digest, _flags, self: Command) =>
      (await actions()).rollback(tool, digest, self.optsWithGlobals()),
    );
  made('start-over', 'end all approvals of a backend, and approve what it serves now')
    .argument('<backend>')
    .option('-y, --yes', 'without having seen it')
    .action(async (backend, _flags, self: Command) => (await actions()).startOver(backend, self.optsWithGlobals()));
}
