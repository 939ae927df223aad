import { spawnSync } from 'node:child_process';
import { createPrivateKey } from 'node:crypto';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { schemaOf, SERVICES } from '@cortex/contracts/services';
import { which } from '@cortex/embedded/child';
import { natsServerBinary } from '@cortex/embedded/nats-binary';
import { describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';

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

  it('makes secrets that the services take, and the same password on both sides', () => {
    const secrets = secretsOf(render(given('default')).text);
    const of = (reader: string) => secrets.get(`cortex-${reader}`)!;
    const provision = JSON.parse(of('provision')['provision.json']!) as {
      bus: Record<string, string>;
      database: Record<string, string> & { admin: { password: string } };
    };
    const passwords = of('nats')['passwords.conf']!;
    for (const name of SERVICES) {
      const own = of(name);
      expect(passwords).toContain(`PASSWORD_${schemaOf(name).toUpperCase()}: "${own['CORTEX_NATS_PASSWORD']}"\n`);
      expect(provision.database[schemaOf(name)]).toBe(own['CORTEX_DATABASE_PASSWORD']);
      expect(provision.database[`${schemaOf(name)}_projector`]).toBe(own['CORTEX_DATABASE_PROJECTOR_PASSWORD']);
    }
    expect(passwords).toContain(`PASSWORD_PROVISION: "${provision.bus['provision']}"`);
    expect(of('postgres')['POSTGRES_PASSWORD']).toBe(provision.database.admin.password);
    expect(Buffer.from(of('mcp-edge')['CORTEX_STATE_KEY']!, 'base64')).toHaveLength(32);
    expect(of('session')['CORTEX_WEBHOOK_TOKEN']).toBe(of('mcp-edge')['CORTEX_WEBHOOK_TOKEN']);
    for (const [reader, key] of [
      ['session', 'CORTEX_SESSION_KEY'],
      ['audit', 'CORTEX_AUDIT_ANCHOR_KEY'],
    ] as const)
      expect(createPrivateKey(of(reader)[key]!).asymmetricKeyType).toBe('ed25519');
  });

  it('lets no server into the cluster of the bus without a password, since a route passes by every permission', () => {
    const { text } = render(given('default'));
    expect(text).toMatch(/cluster \{[^}]*include "\.\.\/\.\.\/run\/cortex\/secrets\/routes\.conf"\s*\}/);
    const routes = secretsOf(text).get('cortex-nats')!['routes.conf']!;
    const password = /^authorization \{ user: "route", password: "(\w{43})"/.exec(routes)?.[1];
    expect(routes.match(/nats:\/\/[^"]+/g)).toEqual(
      [0, 1, 2].map((n) => `nats://route:${password}@cortex-nats-${n}.cortex-nats-peers:6222`),
    );
  });

  it.each(['default', 'small'])('gives its bus a configuration that nats-server takes (%s)', async (values) => {
    const { file: made, write } = draft();
    write('secrets: { create: true }');
    const { text } = render(given(values), made);
    const pod = mkdtempSync(join(tmpdir(), 'cortex-nats-'));
    const [etc, secrets] = [join(pod, 'etc/nats'), join(pod, 'run/cortex/secrets')];
    for (const folder of [etc, secrets]) mkdirSync(folder, { recursive: true });
    for (const [file, body] of Object.entries(secretsOf(text).get('cortex-nats')!))
      writeFileSync(join(secrets, file), body);
    for (const [file, body] of Object.entries(configOf(text, 'cortex-nats')))
      // A server of 2.9 does not know it; the image has a newer one.
      writeFileSync(join(etc, file), body.replace(/^ *sync_interval: always\n/m, ''));
    const env = { ...process.env, POD_NAME: 'cortex-nats-0' };
    const tried = spawnSync(await natsServerBinary(), ['-t', '-c', join(etc, 'nats.conf')], { encoding: 'utf8', env });
    rmSync(pod, { recursive: true });
    expect({ status: tried.status, said: tried.stderr }).toMatchObject({
      status: 0,
      said: expect.stringContaining('valid'),
    });
  });

  it('says what is missing instead of installing something that cannot start', () => {
    expect(render().error).toContain('canonicalUri');
  });

  it('leads to no server elsewhere without TLS, unless somebody says that nobody reads that network', () => {
    const { file, write } = draft();
    const plain = 'nats: { enabled: false, url: "nats://nats.data:4222" }';
    write(plain);
    expect(render(given('default'), file).error).toContain(
      'nats.url leads to another network without TLS; write tls://',
    );
    write('postgres: { enabled: false, url: "postgres://db.data/cortex", adminSecret: admin }');
    expect(render(given('default'), file).error).toContain('postgres.url leads to another network without TLS');
    write(`${plain}\nallowInsecureServers: true`);
    expect(render(given('default'), file)).toMatchObject({ error: '' });
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

/** Secret to its values. */
function secretsOf(text: string): Map<string, Record<string, string>> {
  const objects = parseAllDocuments(text).map((document) => document.toJS() as Manifest | null);
  const secrets = objects.filter((object) => object?.kind === 'Secret');
  const decoded = (data: Record<string, string>) =>
    Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
  return new Map(secrets.map((secret) => [secret!.metadata.name, decoded(secret!.data)]));
}

/** What a ConfigMap holds. */
const configOf = (text: string, name: string): Record<string, string> =>
  parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest | null)
    .find((object) => object?.kind === 'ConfigMap' && object.metadata.name === name)!.data;

interface Manifest {
  kind: string;
  metadata: { name: string };
  data: Record<string, string>;
}

function draft(): { file: string; write: (text: string) => void } {
  const file = join(mkdtempSync(join(tmpdir(), 'cortex-values-')), 'values.yaml');
  return { file, write: (text) => writeFileSync(file, text) };
}
