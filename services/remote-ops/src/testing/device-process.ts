import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Lets Node run the sources as they are: `./x.js` in an import is `./x.ts`. */
const FROM_SOURCES = `data:text/javascript,${encodeURIComponent(`
import { registerHooks } from 'node:module';
registerHooks({ resolve(name, context, next) {
  try { return next(name, context); } catch (error) {
    if (name.startsWith('.') && name.endsWith('.js')) return next(name.slice(0, -3) + '.ts', context);
    throw error;
  }
} });`)}`;
const CLIENT = fileURLToPath(new URL('../../../device-client/src/main.ts', import.meta.url));

export interface DeviceProcess extends AsyncDisposable {
  readonly child: ChildProcess;
  /** What it has said so far. */
  readonly said: string;
  /** Exit status, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
}

/** A real device client, in a process and a home of its own. */
export function startDevice(options: {
  name: string;
  port: number;
  token: string;
  home: string;
  joinCode?: string;
  env?: Record<string, string>;
  /** More fields of its config file. */
  file?: Record<string, unknown>;
}): DeviceProcess {
  mkdirSync(join(options.home, 'config'), { recursive: true });
  writeFileSync(
    join(options.home, 'config', 'cortex-client.json'),
    JSON.stringify({ deviceName: options.name, ...options.file }),
  );
  const child = spawn(
    process.execPath,
    [
      '--experimental-transform-types',
      '--disable-warning=ExperimentalWarning',
      '--conditions=cortex-source',
      '--import',
      FROM_SOURCES,
      CLIENT,
    ],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        PATH: '/usr/local/bin:/usr/bin:/bin',
        HOME: options.home,
        CORTEX_HOME: options.home,
        CORTEX_SERVER_URL: `ws://127.0.0.1:${options.port}`,
        CORTEX_CLIENT_TOKEN: options.token,
        ...(options.joinCode !== undefined && { CORTEX_JOIN_CODE: options.joinCode }),
        ...options.env,
      },
    },
  );
  let said = '';
  child.stderr!.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals);
  return {
    child,
    get said() {
      return said;
    },
    ended,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
