import { createInterface } from 'node:readline/promises';
import { eraseFromLog, remaindersOf } from '../backup/erase-workspace.js';
import { isWorkspace, noteErased } from '../backup/erased.js';
import { CliError, EXIT } from '../exit.js';
import { homeOf } from '../home.js';
import { print, printJson, tell } from '../output.js';
import { withServersAlone } from '../up/servers-alone.js';
import { rebuildAll } from '../views.js';

interface Flags {
  home?: string;
  json?: boolean;
  yes?: boolean;
}

/** `cortex erase workspace <id>`: its commits go, and every view is made anew without them. Nobody may be at work meanwhile. */
export async function eraseWorkspace(workspace: string, flags: Flags): Promise<void> {
  if (!isWorkspace(workspace)) {
    throw new CliError(`${JSON.stringify(workspace)} is no workspace; see cortex workspace list`, EXIT.usage);
  }
  if (!flags.yes) await confirm(workspace);
  const home = homeOf(flags.home);
  const done = await withServersAlone(home, async (quiet) => {
    noteErased(home, [{ kind: 'workspace', id: workspace, at: new Date().toISOString() }]);
    tell(`taking ${workspace} out of the log`);
    const commits = await eraseFromLog(quiet, quiet.services, [workspace]);
    const views = await rebuildAll(quiet, quiet.services);
    const left = await remaindersOf(quiet.adminUrl, quiet.services, workspace);
    return { commits, views: views.length, left };
  });
  if (flags.json) return printJson({ erased: workspace, list: home.erased, ...done });
  print(`${workspace} is erased: ${done.commits} commits; ${done.views} views were made anew`);
  for (const { table, rows } of done.left) {
    print(`  ${table} still names it in ${rows} rows of call records, which are kept as long as the retention says`);
  }
  print(`  ${home.erased} lists it: give that file to restores of older backups elsewhere, with --erased`);
}

async function confirm(workspace: string): Promise<void> {
  if (!process.stdin.isTTY) throw new CliError('an erasure cannot be undone; say --yes with it', EXIT.usage);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`Everything in ${workspace} will be gone. Type its name to go on: `);
  terminal.close();
  if (answer.trim() !== workspace) throw new CliError('nothing was erased');
}
