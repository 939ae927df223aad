import { hostname } from 'node:os';
import { DEVICE_NAME_PATTERN } from '@cortex/contracts/device-wire';
import { runDeviceClient, type DeviceStatus } from '@cortex/device-client';
import { withAdmin } from '../admin.js';
import { CliError, EXIT } from '../exit.js';
import { homeOf } from '../home.js';
import { print, printJson, table, tell } from '../output.js';

interface JoinCode {
  code: string;
  expires_at: string;
}

interface Device {
  name: string;
  online: boolean;
  platform: string | null;
  key_sha256: string | null;
  revoked: boolean;
}

export interface RunFlags {
  home?: string;
  name?: string;
  server?: string;
  join?: string;
  allowPlaintext?: boolean;
}

/** On the machine of the home it adds the machine and joins it by itself; elsewhere it is told where and with what code. */
export async function deviceRun(flags: RunFlags): Promise<void> {
  const device = checkedName(flags.name ?? hostname());
  const home = homeOf(flags.home);
  const where = flags.server === undefined ? await here(flags, device) : elsewhere(flags, flags.server);
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  tell(`joining ${where.url} as ${device}`);
  process.exitCode = await runDeviceClient({ ...where, device, home: home.dir, signal: stop.signal, onStatus: say });
}

const say = (status: DeviceStatus): void => {
  if (status.state === 'connected') tell('connected; Ctrl-C ends it');
  if (status.state === 'waiting') tell(`${status.reason}; next try in ${status.seconds} s`);
  if (status.state === 'stopped') tell(status.reason);
};

async function here(flags: RunFlags, device: string) {
  if (flags.join !== undefined)
    throw new CliError('--join goes with --server; on this machine none is needed', EXIT.usage);
  return withAdmin(homeOf(flags.home), async ({ ask, state, secrets }) => {
    await ask('cortex.cmd.remote-ops.add_device', { name: device });
    const { code } = await ask<JoinCode>('cortex.cmd.remote-ops.issue_join_code', { name: device });
    return { url: `ws://127.0.0.1:${state.ports.devices}`, token: secrets.client_token, joinCode: code };
  });
}

function elsewhere(flags: RunFlags, url: string) {
  const token = process.env['CORTEX_CLIENT_TOKEN'];
  if (!token) {
    throw new CliError('CORTEX_CLIENT_TOKEN is missing; `device join` at the server says what to set', EXIT.usage);
  }
  return {
    url,
    token,
    joinCode: flags.join ?? process.env['CORTEX_JOIN_CODE'],
    allowPlaintext: flags.allowPlaintext === true,
  };
}

export async function deviceJoin(given: string, flags: { home?: string; json?: boolean }): Promise<void> {
  const name = checkedName(given);
  await withAdmin(homeOf(flags.home), async ({ ask, state, secrets }) => {
    await ask('cortex.cmd.remote-ops.add_device', { name });
    const join = await ask<JoinCode>('cortex.cmd.remote-ops.issue_join_code', { name });
    const server = `ws://127.0.0.1:${state.ports.devices}`;
    if (flags.json) {
      return printJson({
        name,
        code: join.code,
        expires_at: join.expires_at,
        server,
        client_token: secrets.client_token,
      });
    }
    print(`join code for ${name}, good once, until ${join.expires_at}:\n\n  ${join.code}\n\n`);
    print('On that machine, with the address by which it reaches this one (wss:// through a TLS proxy or tunnel):\n\n');
    print(`  export CORTEX_CLIENT_TOKEN=${secrets.client_token} CORTEX_JOIN_CODE=${join.code}`);
    print(`  cortex device run --name ${name} --server wss://...`);
  });
}

export async function deviceRevoke(given: string, flags: { home?: string; json?: boolean }): Promise<void> {
  const name = checkedName(given);
  await withAdmin(homeOf(flags.home), ({ ask }) => ask('cortex.cmd.remote-ops.revoke_device', { name }));
  if (flags.json) printJson({ name, revoked: true });
  else print(`${name} is revoked; it comes back only with a new join code`);
}

export async function deviceList(flags: { home?: string; json?: boolean }): Promise<void> {
  const { devices } = await withAdmin(homeOf(flags.home), ({ ask }) =>
    ask<{ devices: Device[] }>('cortex.query.remote-ops.devices', {}),
  );
  if (flags.json) return printJson({ devices });
  if (devices.length === 0) return print('no machine yet; add this one with: cortex device run --name <name>');
  const stateOf = (d: Device) =>
    d.online ? 'connected' : d.revoked ? 'revoked' : d.key_sha256 === null ? 'never joined' : 'away';
  const rows = devices.map((d) => [d.name, stateOf(d), d.platform ?? '-', d.key_sha256?.slice(0, 16) ?? '-']);
  print(table([['machine', 'state', 'platform', 'key'], ...rows]));
}

function checkedName(name: string): string {
  if (DEVICE_NAME_PATTERN.test(name)) return name;
  throw new CliError(
    `${JSON.stringify(name)} is no machine name; give one of 1 to 64 of A-Z a-z 0-9 . _ : -`,
    EXIT.usage,
  );
}
