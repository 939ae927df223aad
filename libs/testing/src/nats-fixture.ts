import { randomBytes } from 'node:crypto';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectBus, type Bus, type TlsFiles } from '@cortex/bus';
import { busPermissions, PROVISIONER, SERVICES, type BusUser } from '@cortex/contracts';
import { startNats } from '@cortex/embedded';
import { consumersOf, provisionBus, type Provisionable } from '@cortex/eventstore';
import type { Certified } from './certificates.js';
import { eventually } from './eventually.js';
import { inContainers, natsContainer } from './nats-container.js';
import { tempDir } from './temp-dir.js';

export interface NatsFixture extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  passwordOf(user: BusUser): string;
  /** A connection with exactly the permissions of this user; closed with the fixture. */
  busAs(user: BusUser): Promise<Bus>;
  /** With TLS: the files that `url` is reached by. */
  readonly tls?: Required<TlsFiles>;
  /** Gives the user another password and has the server read it: who is connected by the old one is cut off. */
  changePassword(user: BusUser, password: string): Promise<void>;
  /** kill -9 of the server. */
  kill(): Promise<void>;
  /** Starts it again on the same port and store. */
  restart(): Promise<void>;
  /**
   * Stops it, writes other letters of the same length over every place where a text stands in a stream, and starts it again. It drops such
   * messages for their checksum, without a word. Answers how many places there were.
   */
  damage(stream: string, text: string, over: string): Promise<number>;
  /** Makes streams, buckets, consumers and tool owners; for a fixture that began with `provision: false`. */
  provision(): Promise<void>;
}

export interface NatsFixtureOptions {
  /** Whose consumers are made and permitted. */
  services?: readonly Provisionable[];
  /** Default true: streams, buckets, consumers and tool owners are there. */
  provision?: boolean;
  /** False: there is no server until `restart`, but its address is known. */
  start?: boolean;
  /** Milliseconds after which an unacknowledged message comes again; for a test that waits for it. */
  ackWaitMs?: number;
  /** Takes connections with TLS alone, and only from clients that show a certificate of `ca`. */
  tls?: Certified & { ca: string; client: Certified };
}

/** A nats-server of its own with the generated users and permissions, provisioned. About 0.3 s. */
export async function natsFixture(options: NatsFixtureOptions = {}): Promise<NatsFixture> {
  const { services = [], ackWaitMs } = options;
  const dir = await tempDir('nats');
  const configFile = join(dir, 'nats.conf');
  const passwords = new Map<BusUser, string>(
    ([...SERVICES, PROVISIONER] as BusUser[]).map((user): [BusUser, string] => [user, randomBytes(12).toString('hex')]),
  );
  const tls = options.tls && (await tlsFiles(dir, options.tls));
  const contained = inContainers() && !tls;
  const data = join(dir, 'data');
  const writeConfig = () =>
    writeFile(configFile, configOf(services, passwords, { store: { store_dir: data }, tls: tls?.server }), {
      mode: 0o600,
    });
  await writeConfig();
  const start = (port: number) =>
    contained
      ? natsContainer({ dir: data, port, configFile })
      : startNats({ dir: data, port, configFile, storeInConfig: true });
  const buses: Bus[] = [];

  let server = undefined as unknown as Awaited<ReturnType<typeof start>>;
  const fixture: NatsFixture = {
    get url() {
      return tls ? server.url.replace('nats:', 'tls:') : server.url;
    },
    ...(tls && { tls: tls.client }),
    get pid() {
      return server.pid;
    },
    passwordOf: (user) => passwords.get(user)!,
    async busAs(user) {
      const bus = await connectBus({
        servers: fixture.url,
        ...(tls && { tls: tls.client }),
        user,
        pass: passwords.get(user)!,
        service: user,
      });
      buses.push(bus);
      return bus;
    },
    async changePassword(user, password) {
      passwords.set(user, password);
      await writeConfig();
      process.kill(server.pid, 'SIGHUP');
    },
    kill: () => server.kill(),
    async restart() {
      await server.kill();
      server = await start(server.port);
    },
    async damage(stream, text, over) {
      // Killed, it would look at all messages again, and give up all of a block behind the first bad one.
      await server.stop();
      let places = 0;
      const folder = join(data, 'jetstream', '$G', 'streams', stream, 'msgs');
      for (const name of (await readdir(folder)).filter((file) => file.endsWith('.blk'))) {
        const bytes = await readFile(join(folder, name));
        for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1), places++) bytes.write(over, at);
        await writeFile(join(folder, name), bytes);
      }
      server = await start(server.port);
      return places;
    },
    async provision() {
      const bus = await fixture.busAs(PROVISIONER);
      // A machine with much to do may need longer than a bus waits for its first connection.
      await eventually(() => bus.up, 30_000);
      await provisionBus({ nc: bus.nc, services, ...(ackWaitMs !== undefined && { ackWaitMs }) });
    },
    async [Symbol.asyncDispose]() {
      await Promise.allSettled(buses.map((bus) => bus.close()));
      await (server as typeof server | undefined)?.kill();
      await rm(dir, { recursive: true, force: true });
    },
  };
  try {
    server = await start(0);
    if (options.provision !== false) await fixture.provision();
    if (options.start === false) await fixture.kill();
    return fixture;
  } catch (error) {
    await fixture[Symbol.asyncDispose]();
    throw error;
  }
}

async function tlsFiles(dir: string, { ca, cert, key, client }: NonNullable<NatsFixtureOptions['tls']>) {
  const texts = { ca, cert, key, 'client-cert': client.cert, 'client-key': client.key };
  const place = (name: string) => join(dir, `${name}.pem`);
  await Promise.all(Object.entries(texts).map(([name, text]) => writeFile(place(name), text, { mode: 0o600 })));
  return {
    server: { cert_file: place('cert'), key_file: place('key'), ca_file: place('ca'), verify: true },
    client: { ca: place('ca'), cert: place('client-cert'), key: place('client-key') },
  };
}

function configOf(
  services: readonly Provisionable[],
  passwords: ReadonlyMap<BusUser, string>,
  parts: { store: object; tls: object | undefined },
): string {
  const users = [...passwords].map(([user, password]) => {
    const definition = services.find(({ name }) => name === user);
    const permissions =
      user === PROVISIONER
        ? { publish: ['>'], subscribe: ['>'] }
        : busPermissions(user, definition ? consumersOf(definition) : []);
    return { user, password, permissions };
  });
  // JSON is what the server's own format reads too. Nobody needs a test's data after a power cut.
  const secured = parts.tls ? `tls: ${JSON.stringify(parts.tls)}\n` : '';
  return `max_payload: 1MB\njetstream: ${JSON.stringify(parts.store)}\n${secured}authorization { users: ${JSON.stringify(users)} }\n`;
}
