import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EXIT } from '../exit.js';
import { print, tell } from '../output.js';
import { startEverything } from './everything/backend.js';
import { SCOPE } from './everything/call.js';
import { startGateway } from './gateway.js';
import { authorizingProxy } from './proxy.js';
import { requiredBy, runSuite, type Verdict } from './suite.js';

/** How many scenarios the suite has for each revision; fewer would mean that some did not run. */
const SCENARIOS = { '2025-06-18': 27, '2025-11-25': 33, '2026-07-28': 40 };
/** The one that is for an older revision alone. */
const OLDER = ['2025-03-26', 'server-session-lifecycle'] as const;
const TECHNICAL_TOKEN = 'technical-token-of-the-conformance-run';
/** Checks that succeeded in each scenario when this was written; fewer are a failure, since a pass can be empty. */
const RECORD = fileURLToPath(new URL('../../conformance-checks.json', import.meta.url));

type Counts = Record<string, Record<string, number>>;

/**
 * The official suite against the everything backend, through a real gateway and with a real token. Prints a line for each scenario that did
 * not pass, and figures at the end. Source: gateway, section 27.
 */
export async function conformance(flags: { record?: boolean; keep?: string }): Promise<void> {
  const dir = flags.keep ?? (await mkdtemp(join(tmpdir(), 'cortex-conformance-results-')));
  await using backend = await startEverything({ technicalToken: TECHNICAL_TOKEN });
  tell('starting a gateway');
  await using gateway = await startGateway({
    CORTEX_BACKENDS: 'test',
    CORTEX_BACKEND_TEST_URL: backend.url,
    CORTEX_BACKEND_TEST_PREFIX: 'none',
    CORTEX_ALLOW_UNPREFIXED: 'true',
    CORTEX_BACKEND_TEST_URI_SCHEMES: 'test',
    CORTEX_BACKEND_TEST_SCOPE_PREFIXES: 'mcp:test:',
    CORTEX_BACKEND_TEST_TIMEOUT_MS: '70000',
    CORTEX_TECHNICAL_TOKEN: TECHNICAL_TOKEN,
    CORTEX_RATE_LIMIT_PER_MINUTE: '100000',
    CORTEX_LIST_PAGE_SIZE: '0',
  });
  backend.trust(gateway);
  await using proxy = await authorizingProxy(gateway.endpoint, await gateway.login(SCOPE));
  const recorded = flags.record ? {} : await readRecord();
  const verdicts: Verdict[] = [];
  for (const [revision, expected] of Object.entries(SCENARIOS)) {
    tell(`revision ${revision}`);
    const found = await runSuite(proxy.url, revision, await folder(dir, revision));
    verdicts.push(...found.map((verdict) => held(verdict, recorded)));
    if (found.length < expected) verdicts.push(missing(revision, `only ${found.length} of ${expected} scenarios ran`));
    verdicts.push(...(await lacking(revision, found)));
  }
  const [revision, scenario] = OLDER;
  const older = await runSuite(proxy.url, revision, await folder(dir, revision), scenario);
  verdicts.push(...older.map((verdict) => held(verdict, recorded)));
  if (flags.record) await writeRecord(verdicts);
  if (flags.keep === undefined) await rm(dir, { recursive: true, force: true });
  report(verdicts);
}

async function folder(dir: string, revision: string): Promise<string> {
  const path = join(dir, revision);
  await mkdir(path, { recursive: true });
  return path;
}

/** What the revision has required since its release and the suite of today does not run. */
async function lacking(revision: string, found: readonly Verdict[]): Promise<Verdict[]> {
  const required = await requiredBy(revision);
  const passed = new Set(found.filter(({ outcome }) => outcome === 'passed').map(({ scenario }) => scenario));
  if (required.length > 0)
    tell(`${required.filter((one) => passed.has(one)).length} of the ${required.length} that it requires passed`);
  const ran = new Set(found.map(({ scenario }) => scenario));
  return required.filter((one) => !ran.has(one)).map((one) => missing(revision, `${one} is required and did not run`));
}

const missing = (revision: string, problem: string): Verdict => ({
  revision,
  scenario: '(suite)',
  outcome: 'failed',
  successes: 0,
  problems: [problem],
});

/** A scenario that finds fewer things right than it did before has failed. */
function held(verdict: Verdict, recorded: Counts): Verdict {
  const before = recorded[verdict.revision]?.[verdict.scenario] ?? 0;
  if (verdict.successes >= before) return verdict;
  const problem = `only ${verdict.successes} checks succeeded, and ${before} did before`;
  return { ...verdict, outcome: 'failed', problems: [...verdict.problems, problem] };
}

const readRecord = async (): Promise<Counts> => JSON.parse(await readFile(RECORD, 'utf8')) as Counts;

async function writeRecord(verdicts: readonly Verdict[]): Promise<void> {
  const counts: Counts = {};
  for (const { revision, scenario, outcome, successes } of verdicts)
    if (outcome === 'passed') (counts[revision] ??= {})[scenario] = successes;
  await writeFile(RECORD, `${JSON.stringify(counts, null, 2)}\n`);
}

function report(verdicts: readonly Verdict[]): void {
  for (const { revision, scenario, outcome, problems } of verdicts) {
    if (outcome === 'passed') continue;
    print(`${outcome} ${revision} ${scenario}`);
    for (const problem of problems) print(`  ${problem}`);
  }
  const count = (outcome: Verdict['outcome']): number => verdicts.filter((one) => one.outcome === outcome).length;
  print(`${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped`);
  if (count('failed') > 0) process.exitCode = EXIT.failed;
}
