import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PACKAGE = dirname(fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/package.json')));
const SUITE = join(PACKAGE, 'dist/index.js');

/** A check as the suite writes it. */
interface Check {
  id: string;
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'INFO' | 'SKIPPED';
  errorMessage?: string;
  description?: string;
  details?: unknown;
}

/** What became of one scenario at one revision. */
export interface Verdict {
  readonly revision: string;
  readonly scenario: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** Checks that succeeded. */
  readonly successes: number;
  /** Why it failed, one sentence for each check. */
  readonly problems: readonly string[];
}

/** Runs the suite against a server; `only` names one scenario. The results lie in `dir` afterwards. */
export async function runSuite(url: string, revision: string, dir: string, only?: string): Promise<Verdict[]> {
  const which = only === undefined ? ['--suite', 'all'] : ['--scenario', only];
  const args = [SUITE, 'server', '--url', url, ...which, '--spec-version', revision, '--output-dir', dir];
  const child = spawn(process.execPath, args, { stdio: 'ignore' });
  await once(child, 'exit');
  const folders = (await readdir(dir)).sort();
  return Promise.all(
    folders.map(async (folder) => {
      const checks = JSON.parse(await readFile(join(dir, folder, 'checks.json'), 'utf8')) as Check[];
      return verdictOf(revision, scenarioOf(folder), checks);
    }),
  );
}

/** The server scenarios that a revision has required since its release; none for one without such a list. */
export async function requiredBy(revision: string): Promise<readonly string[]> {
  const list = await readFile(join(PACKAGE, 'requirements', `${revision}.yaml`), 'utf8').catch(() => '');
  const [, server = ''] = /^server:\n((?: .*\n|\n|#.*\n)*)/m.exec(list) ?? [];
  return [...server.matchAll(/^ +- (\S+)/gm)].map(([, scenario = '']) => scenario);
}

/** `server-<scenario>-<time>`. */
const scenarioOf = (folder: string): string =>
  folder.replace(/^server-/, '').replace(/-\d{4}-\d{2}-\d{2}T[\d-]+Z$/, '');

/** A scenario in which nothing was found to be right has not passed. */
function verdictOf(revision: string, scenario: string, checks: readonly Check[]): Verdict {
  const successes = checks.filter(({ status }) => status === 'SUCCESS').length;
  const bad = checks.filter(
    ({ status, details }) => status === 'FAILURE' || status === 'WARNING' || isUntestable(details),
  );
  const problems = bad.map(({ id, errorMessage, description }) => `${id}: ${errorMessage ?? description ?? ''}`);
  const skipped = checks.some(({ status }) => status === 'SKIPPED');
  const outcome = bad.length > 0 ? 'failed' : successes > 0 ? 'passed' : skipped ? 'skipped' : 'failed';
  return {
    revision,
    scenario,
    outcome,
    successes,
    problems: problems.length > 0 || outcome !== 'failed' ? problems : ['nothing was checked'],
  };
}

const isUntestable = (details: unknown): boolean =>
  typeof details === 'object' && details !== null && 'untestable' in details && details.untestable === true;
