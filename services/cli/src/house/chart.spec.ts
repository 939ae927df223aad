import { spawnSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { which } from '@cortex/embedded/child';
import { describe, expect, it } from '@jest/globals';

const CHART = resolve(import.meta.dirname, '../../../../helm/cortex');
const helm = process.env['HELM'] || which('helm');
const given = (name: string): string => join(CHART, 'ci', `${name}-values.yaml`);
const names = globSync('ci/*-values.yaml', { cwd: CHART })
  .map((file) => basename(file, '-values.yaml'))
  .toSorted();

function render(...values: string[]): { text: string; error: string } {
  const flags = ['template', 'cortex', CHART, '--namespace', 'cortex', ...values.flatMap((file) => ['--values', file])];
  const { stdout, stderr } = spawnSync(helm!, flags, { encoding: 'utf8', maxBuffer: 1 << 26 });
  return { text: stdout, error: stderr };
}

/** Without what is made at random and kept by `lookup` in a cluster, and without the permissions, which another test holds to the code. */
const comparable = (text: string): string =>
  text
    .split(/^---$/m)
    .map((object) => {
      const [head = '', data] = object.split(/^data:\n/m);
      if (data === undefined || !/^kind: Secret$/m.test(head)) return object;
      return `${head}data:\n${data.replaceAll(/^( {2}[\w.]+: ).+$/gm, '$1<made>')}`;
    })
    .map((object) => object.replace(/^( {2}users\.conf: )\|\n(?: {4}.*\n|\n)*/m, '$1<files/users.conf>\n'))
    .join('---')
    .replaceAll(/(checksum\/users: )\w+/g, '$1<sum>');

// Without helm nothing can be rendered: `HELM` names the program where it is on no path.
(helm ? describe : describe.skip)(`the chart, rendered by ${helm ?? 'helm, which is missing here (set HELM)'}`, () => {
  it.each(names)('is what was reviewed, with the values of ci/%s-values.yaml', (name) => {
    const { text, error } = render(given(name));
    expect(error).toBe('');
    const golden = join(CHART, 'golden', `${name}.yaml`);
    const rendered = comparable(text);
    if (process.env['UPDATE_DEPLOY'] === '1') {
      mkdirSync(join(CHART, 'golden'), { recursive: true });
      writeFileSync(golden, rendered);
    }
    expect(
      rendered === readFileSync(golden, 'utf8') ? 'as reviewed' : `differs; npm run deploy, then look at git diff`,
    ).toBe('as reviewed');
  });

  it('says what is missing instead of installing something that cannot start', () => {
    expect(render().error).toContain('canonicalUri');
  });

  it('knows no service, and no file of one, that is not there', () => {
    const { file, write } = draft();
    write('services: { tickets: { replicas: 2 } }');
    expect(render(given('default'), file).error).toContain('tickets');
    write("services: { ticket: { files: { prices.json: '{}' } } }");
    expect(render(given('default'), file).error).toContain(
      'services.ticket.files has prices.json, which it does not read',
    );
  });
});

function draft(): { file: string; write: (text: string) => void } {
  const file = join(mkdtempSync(join(tmpdir(), 'cortex-values-')), 'values.yaml');
  return { file, write: (text) => writeFileSync(file, text) };
}
