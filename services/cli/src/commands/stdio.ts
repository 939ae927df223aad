import { Lines } from '@cortex/mcp-edge/federation/lines';
import { CliError, EXIT } from '../exit.js';
import { homeOf } from '../home.js';
import { tell } from '../output.js';
import { Bridge, MAX_LINE_BYTES } from '../stdio/bridge.js';
import { connect, type StdioFlags } from '../stdio/connect.js';
import { Upstream } from '../stdio/upstream.js';

/** How long calls under way may go on when the client has closed stdin. */
const DRAIN_MS = 60_000;
/** The same after a signal: whoever sends it does not wait for long. */
const HURRY_MS = 2_000;

/** MCP on stdin and stdout. Ends with stdin, with a signal, or with the gateway that it started, and then with its exit code. */
export async function stdio(flags: StdioFlags): Promise<void> {
  const gateway = await connect(homeOf(flags.home), flags, process.env);
  const upstream = new Upstream(gateway.url, gateway.token);
  const bridge = new Bridge({ upstream, write: (line) => void process.stdout.write(`${line}\n`), tell });
  const asked = new Promise<number>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve(HURRY_MS));
  });
  tell(`speaking for ${gateway.url.href} on stdin and stdout`);
  const read = readLines(bridge).then(() => DRAIN_MS);
  const ended = gateway.gone.then((code) => ({ code }));
  const first = await Promise.race([read, asked, ended]);
  const limit = typeof first === 'number' ? first : 0;
  // Whoever signals while the calls end does not want to wait for them.
  await Promise.race([bridge.end(limit), asked.then(() => bridge.end(HURRY_MS))]);
  await gateway.close();
  process.stdin.destroy();
  if (typeof first === 'number') return;
  throw new CliError(`the gateway ended with code ${first.code}`, first.code || EXIT.failed);
}

async function readLines(bridge: Bridge): Promise<void> {
  const lines = new Lines({ max: MAX_LINE_BYTES, tooLong: () => bridge.refuseLong() });
  for await (const part of process.stdin) for (const line of lines.push(part as Buffer)) bridge.receive(line);
  bridge.receive(lines.rest());
}
