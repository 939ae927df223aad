import { mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { PROVISIONER } from '@cortex/contracts/services';
import { startEdge, type EdgeFixture, type EdgeOptions } from '@cortex/mcp-edge/testing/edge-fixture';
import { tempDir } from '@cortex/testing';
import { jest } from '@jest/globals';
import { withAdmin, type Admin } from '../admin.js';
import { exitCodeOf, messageOf } from '../exit.js';
import { homeOf, writeJson, type Home } from '../home.js';
import { identityOf } from '../identity.js';
import { program } from '../program.js';
import { ensureSecrets } from '../secrets.js';
import { writeState } from '../up/state.js';

export interface Said {
  code: number;
  /** What it printed, and what it told on stderr. */
  out: string;
  told: string;
}

export interface RunningHome extends AsyncDisposable {
  readonly home: Home;
  readonly edge: EdgeFixture;
  /** One command line, in this process. */
  cortex(...args: string[]): Promise<Said>;
  admin<T>(work: (admin: Admin) => Promise<T>): Promise<T>;
}

/** The edge and other services on real servers, and a home that says that they are its own. */
export async function runningHome(options: EdgeOptions = {}): Promise<RunningHome> {
  const edge = await startEdge(options);
  const dir = await tempDir('home');
  const home = homeOf(dir);
  for (const folder of ['config', 'run']) mkdirSync(`${dir}/${folder}`);
  const secrets = await ensureSecrets(home);
  secrets.bus[PROVISIONER] = edge.nats.passwordOf(PROVISIONER);
  // The roles are those of all specs of this server: a command that provisions must leave them their passwords.
  const { admin: _, ...roles } = secrets.database;
  for (const role of Object.keys(roles)) secrets.database[role] = edge.postgres.passwordOf(role);
  secrets.admin_secret = edge.edge.settings.adminSecret ?? secrets.admin_secret;
  writeJson(home.secrets, secrets);
  const port = Number(new URL(edge.origin).port);
  writeState(home, {
    supervisor: identityOf(process.pid),
    version: 'test',
    since: new Date().toISOString(),
    ready: true,
    each: false,
    endpoint: edge.url,
    canonical_uri: edge.url,
    issuer: edge.issuer.url,
    nats_url: edge.nats.url,
    database_url: edge.postgres.url,
    ports: { public: port, issuer: 0, webhooks: 0, devices: 0 },
    processes: [],
  });
  return {
    home,
    edge,
    cortex: (...args) => run([...args, '--home', dir]),
    admin: (work) => withAdmin(home, work),
    async [Symbol.asyncDispose]() {
      await edge[Symbol.asyncDispose]();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** As `main` runs it, with what it writes caught. */
async function run(args: readonly string[]): Promise<Said> {
  const said: Said = { code: 0, out: '', told: '' };
  const caught = (stream: NodeJS.WriteStream, key: 'out' | 'told') =>
    jest.spyOn(stream, 'write').mockImplementation((text) => (said[key] += String(text)) !== '');
  const spies = [caught(process.stdout, 'out'), caught(process.stderr, 'told')];
  try {
    await program().parseAsync(args, { from: 'user' });
  } catch (error) {
    said.told += messageOf(error);
    said.code = exitCodeOf(error);
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
  return said;
}
