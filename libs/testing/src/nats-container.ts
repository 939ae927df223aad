import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import type { startNats } from '@cortex/embedded';
import { eventually } from './eventually.js';

const run = promisify(execFile);
const docker = async (...args: string[]): Promise<string> => (await run('docker', args)).stdout.trim();

/** `TEST_INFRA=containers`: the servers of the fixtures run in containers (`TEST_NATS_IMAGE`, `TEST_POSTGRES_IMAGE`). */
export const inContainers = (): boolean => process.env['TEST_INFRA'] === 'containers';

const imageOf = (): string => process.env['TEST_NATS_IMAGE'] || 'nats:2.12-alpine';

/**
 * As `startNats`, in a container that the end of the run takes away. Store and configuration lie in our own folders; the file
 * names the store, since a server of 2.9 reads no change of a file when a flag says what the file does not.
 */
export async function natsContainer({
  dir,
  port,
  configFile,
}: {
  dir: string;
  port: number;
  configFile: string;
}): ReturnType<typeof startNats> {
  await mkdir(dir, { recursive: true });
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  const label = `cortex-test=${process.env['CORTEX_TEST_RUN'] ?? ''}`;
  const mounts = ['-v', `${dir}:${dir}`, '-v', `${configFile}:${configFile}:ro`];
  const container = ['--label', label, '--user', `${uid}:${gid}`, '-p', `127.0.0.1:${port || ''}:4222`, ...mounts];
  const server = ['--config', configFile, '--addr', '0.0.0.0', '--port', '4222'];
  const id = await docker('run', '-d', ...container, imageOf(), ...server);
  const exited = docker('wait', id).then(
    (code) => ({ code: Number(code), signal: null }),
    () => ({ code: null, signal: null }),
  );
  const end = async (...how: string[]): Promise<void> => {
    await docker(...how, id).catch(() => undefined); // it may have ended by itself
    await exited;
    await docker('rm', '-f', id).catch(() => undefined);
  };
  try {
    const published = Number((await docker('port', id, '4222/tcp')).split('\n')[0]?.split(':').at(-1));
    await eventually(() => greets(published), 30_000);
    return {
      pid: Number(await docker('inspect', '--format', '{{.State.Pid}}', id)),
      port: published,
      url: `nats://127.0.0.1:${published}`,
      exited,
      stop: (graceMs = 10_000) => end('stop', '-t', String(Math.ceil(graceMs / 1000))),
      kill: () => end('kill'),
    };
  } catch (cause) {
    const said = await docker('logs', id).catch(() => '');
    await end('kill');
    throw new Error(`${imageOf()} did not start: ${said}`, { cause });
  }
}

/** The engine's own proxy takes connections before the server does; a server speaks first. */
const greets = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    const end = (up: boolean) => {
      socket.destroy();
      resolve(up);
    };
    socket.setTimeout(1_000, () => end(false));
    socket.once('error', () => end(false));
    socket.once('close', () => end(false));
    socket.once('data', (data) => end(data.toString('latin1').startsWith('INFO ')));
  });
