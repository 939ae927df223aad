import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const ROOT = resolve(import.meta.dirname, '../../../..');

/** [file, code, what lint says; null where it is allowed] */
const CASES: [file: string, code: string, refused: string | null][] = [
  ['libs/contracts/src/a.ts', from('@cortex/bus'), 'contracts imports nothing of ours'],
  ['libs/bus/src/a.ts', from('@cortex/contracts/ids'), null],
  ['libs/bus/src/b.ts', from('@cortex/eventstore'), 'bus stands on contracts alone'],
  ['libs/bus/src/c.ts', from('@nats-io/jetstream'), null],
  ['libs/bus/src/a.spec.ts', from('@cortex/testing'), null],
  ['libs/bus/src/b.spec.ts', from('@cortex/session'), 'a library knows no service'],
  ['libs/eventstore/src/a.ts', from('@cortex/service-kit'), 'eventstore stands on contracts and bus'],
  ['libs/eventstore/src/b.ts', from('pg'), null],
  ['libs/service-kit/src/a.ts', from('@cortex/auth'), 'service-kit is below auth and services'],
  ['libs/service-kit/src/b.ts', from('@nats-io/transport-node'), 'speak to NATS through @cortex/bus'],
  ['libs/auth/src/a.ts', from('@cortex/bus'), 'auth stands on contracts alone'],
  ['libs/embedded/src/a.ts', from('@cortex/contracts'), 'embedded imports nothing of ours'],
  ['libs/testing/src/a.ts', from('@cortex/ticket'), 'testing stands on the libraries and knows no service'],
  ['services/ticket/src/a.ts', from('@cortex/service-kit'), null],
  ['services/ticket/src/b.ts', from('@cortex/audit'), 'services meet on the bus'],
  ['services/ticket/src/c.ts', from('@cortex/testing'), 'services meet on the bus'],
  ['services/ticket/src/d.ts', from('@nats-io/kv'), 'speak to NATS through @cortex/bus'],
  ['services/ticket/src/e.ts', from('pg'), 'PostgreSQL is reached through @cortex/eventstore'],
  ['services/ticket/src/f.ts', from('../index.js'), 'inside a package import the file itself'],
  ['services/ticket/src/a.spec.ts', from('@cortex/testing'), null],
  ['services/ticket/src/b.spec.ts', from('@cortex/audit'), 'a service knows no other service'],
  ['services/device-client/src/a.ts', from('@cortex/bus'), 'the device client runs far from the rest'],
  ['services/cli/src/a.ts', from('@cortex/audit'), null],
  ['services/cli/src/b.ts', from('@cortex/testing'), 'fixtures are for specs'],
  ['services/cli/src/c.ts', from('@nats-io/kv'), 'speak to NATS through @cortex/bus'],
  ['services/cli/src/bench/a.ts', from('@nats-io/kv'), null],
  ['services/ticket/src/config.ts', 'export const home = process.env.HOME;', null],
  ['services/ticket/src/g.ts', 'export const home = process.env.HOME;', 'Disallowed usage of `process.env`'],
  ['services/ticket/src/h.ts', `${from('./i.js')}`, 'Dependency cycle'],
  ['services/ticket/src/i.ts', `${from('./h.js')}`, 'Dependency cycle'],
];

function from(module: string): string {
  return `import { a } from '${module}';\nexport const b = a;\n`;
}

let tree: string;
let faults: { filename: string; message: string; help?: string }[];

// One run over a tree of its own, so that no broken file ever stands in the checkout.
beforeAll(async () => {
  tree = await mkdtemp(join(tmpdir(), 'cortex-layers-'));
  await copyFile(join(ROOT, 'oxlint.config.ts'), join(tree, 'oxlint.config.ts'));
  await symlink(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
  await writeFile(join(tree, 'package.json'), '{ "type": "module" }');
  for (const [file, code] of CASES) {
    await mkdir(dirname(join(tree, file)), { recursive: true });
    await writeFile(join(tree, file), code);
  }
  const oxlint = join(ROOT, 'node_modules/oxlint/bin/oxlint');
  const run = promisify(execFile)(process.execPath, [oxlint, '--format', 'json'], { cwd: tree, maxBuffer: 1 << 24 });
  const { stdout } = await run.catch((failed: { stdout: string }) => failed);
  faults = (JSON.parse(stdout) as { diagnostics: typeof faults }).diagnostics;
});
afterAll(() => rm(tree, { recursive: true, force: true }));

describe('lint', () => {
  it.each(CASES)('%s: %j gives %j', (file, _code, refused) => {
    const said = faults
      .filter(({ filename }) => filename === file)
      .map(({ message, help }) => `${message} ${help ?? ''}`);
    expect(said).toEqual(refused === null ? [] : [expect.stringContaining(refused)]);
  });
});
