import { sha256Hex, unavailable } from '@cortex/contracts';
import type { ToolContext } from '@cortex/service-kit';
import { z } from 'zod';
import { DeviceHub } from '../adapters/device-hub.js';
import { deviceFault } from '../adapters/device-fault.js';
import { Machines } from '../adapters/machines.js';

const TIMEOUT_MS = 20_000;
const Output = z.object({ stdout: z.string(), stderr: z.string(), exitCode: z.number().nullable() });

/**
 * Runs one of our own scripts on a machine and gives its output. Unlike the commands of agents it leaves no record: it is
 * upkeep, every half minute, and what it brings is recorded by whoever asked. Errors: unavailable (device).
 */
export async function runScript(ctx: ToolContext, device: string, command: string): Promise<string> {
  const hub = ctx.get(DeviceHub);
  if (ctx.get(Machines).get(device) === undefined || !hub.isOnline(device)) {
    throw unavailable('device', `${device} is not connected`, 'it is visited when it is back', {
      reason: 'device_offline',
    });
  }
  const commandId = sha256Hex(ctx.newId()).slice(0, 16);
  const answer = await hub.run(
    device,
    { commandId, action: 'bash', params: { command, timeout: TIMEOUT_MS }, timeoutMs: TIMEOUT_MS + 5_000 },
    {
      v: 1,
      call_id: ctx.call_id,
      workspace_id: null,
      principal: ctx.caller,
      scope: {},
      args: {},
      deadline_ms: ctx.deadline_ms,
    },
    ctx.signal,
  );
  const output = Output.safeParse(answer);
  if (!output.success) throw deviceFault(device, 'device_error', 'its answer is no output of a command');
  if (output.data.exitCode !== 0) {
    throw deviceFault(device, 'device_error', `the spool could not be read (exit code ${output.data.exitCode})`);
  }
  return output.data.stdout;
}
