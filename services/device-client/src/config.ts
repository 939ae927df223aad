import { readFileSync } from 'node:fs';
import { homedir, hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { DEVICE_NAME_PATTERN } from '@cortex/contracts/device-wire';
import { invalidArgument } from '@cortex/contracts';

/** What a client needs to know; `./cortex device run` fills it in itself, `cortex-client` from file and environment. */
export interface ClientConfig {
  /** `ws://host:port` or `wss://…`. */
  url: string;
  device: string;
  token: string;
  /** Needed at the first join of a name; used once. */
  joinCode?: string;
  /** Lets `ws://` go to a host that is not this one: inside a VPN or tunnel. */
  allowPlaintext?: boolean;
  /** Data root of the device: `config/` with key and pin, `AGENTS.md`. */
  home: string;
}

const FILE = 'cortex-client.json';
const FIELDS = ['serverHost', 'serverPort', 'serverUrl', 'deviceName', 'clientToken', 'allowPlaintext'] as const;
type FileConfig = {
  serverHost?: string;
  serverPort?: number;
  serverUrl?: string;
  deviceName?: string;
  clientToken?: string;
  allowPlaintext?: boolean;
};

/**
 * `<home>/config/cortex-client.json` and the environment: `CORTEX_SERVER_URL` beats `serverUrl` beats
 * `ws://<serverHost>:<serverPort>`; `CORTEX_CLIENT_TOKEN` beats `clientToken`.
 */
export function loadClientConfig(env: NodeJS.ProcessEnv = process.env): ClientConfig {
  const home = resolve(env['CORTEX_HOME'] || join(homedir(), '.cortex'));
  const file = join(home, 'config', FILE);
  const given = readConfig(file);
  const host = given.serverHost ?? '127.0.0.1';
  const bare = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  const token = env['CORTEX_CLIENT_TOKEN'] || given.clientToken;
  if (!token) {
    throw invalidArgument('clientToken', 'is missing', `set CORTEX_CLIENT_TOKEN, or clientToken in ${file}`);
  }
  return checked({
    url: env['CORTEX_SERVER_URL'] || given.serverUrl || `ws://${bare}:${given.serverPort ?? 3002}`,
    device: given.deviceName ?? hostname(),
    token,
    ...(env['CORTEX_JOIN_CODE'] && { joinCode: env['CORTEX_JOIN_CODE'] }),
    allowPlaintext: given.allowPlaintext === true,
    home,
  });
}

/** Refuses a config that cannot work or would put shell commands in the clear on a network (threat T67). */
export function checked(config: ClientConfig): ClientConfig {
  const url = URL.canParse(config.url) ? new URL(config.url) : null;
  if (url === null || (url.protocol !== 'ws:' && url.protocol !== 'wss:')) {
    throw invalidArgument('server', `"${config.url}" is no WebSocket address`, 'give ws://host:port or wss://host');
  }
  if (url.protocol === 'ws:' && !isLoopback(url.hostname) && config.allowPlaintext !== true) {
    throw invalidArgument(
      'server',
      `${url.host} would be reached unencrypted, and shell commands travel there`,
      'use wss://, or --allow-plaintext (allowPlaintext: true in cortex-client.json) when a VPN or tunnel protects the way',
    );
  }
  if (!DEVICE_NAME_PATTERN.test(config.device)) {
    throw invalidArgument('deviceName', `"${config.device}" is no device name`, 'use 1 to 64 of A-Z a-z 0-9 . _ : -');
  }
  return config;
}

/** Variables that reach what an agent starts: nothing of the client's own, no token, no secret. */
const PASSED = /^(PATH|HOME|USER|LOGNAME|LANG|LANGUAGE|LC_[A-Z]+|TERM|TZ|TMPDIR|SHELL)$/;
const PASSED_ON_WINDOWS =
  /^(PATH|PATHEXT|SYSTEM(ROOT|DRIVE)|WINDIR|COMSPEC|TEMP|TMP|USERNAME|USERPROFILE|HOME(DRIVE|PATH)|(LOCAL)?APPDATA|PROGRAM(DATA|FILES))$/i;

/** The environment of a command: an allow-list of the client's own, and `extra`. */
export function commandEnvironment(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const passes = (name: string): boolean =>
    PASSED.test(name) || (process.platform === 'win32' && PASSED_ON_WINDOWS.test(name));
  return { ...Object.fromEntries(Object.entries(process.env).filter(([name]) => passes(name))), ...extra };
}

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);

function readConfig(file: string): FileConfig {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw invalidArgument(file, 'is no JSON', 'correct it', { cause });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidArgument(file, 'holds no object', `give an object with ${FIELDS.join(', ')}`);
  }
  const types = { serverPort: 'number', allowPlaintext: 'boolean' } as Record<string, string>;
  for (const field of FIELDS) {
    const given = (value as Record<string, unknown>)[field];
    const wanted = types[field] ?? 'string';
    if (given !== undefined && typeof given !== wanted) {
      throw invalidArgument(`${field} in ${file}`, `is a ${typeof given}`, `give a ${wanted}`);
    }
  }
  return value;
}
