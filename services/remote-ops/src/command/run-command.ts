import { randomUUID } from 'node:crypto';
import {
  internal,
  isCortexError,
  notFound,
  sha256Hex,
  unavailable,
  type BusRequest,
  type CortexError,
} from '@cortex/contracts';
import type { RemoteAction } from '@cortex/contracts/device';
import { firstChars } from '@cortex/contracts/text';
import { redact, type EventStore } from '@cortex/eventstore';
import { result, STORE, type ContentBlock, type ToolContext, type ToolResult } from '@cortex/service-kit';
import { z } from 'zod';
import { DeviceHub } from '../adapters/device-hub.js';
import { deviceFault, failureOf } from '../adapters/device-fault.js';
import { Machines, type Machine } from '../adapters/machines.js';
import { remoteCommand, type CommandCommand, type Completion } from './command.decider.js';

export interface RemoteCommand<S extends z.ZodObject> {
  device: string;
  action: RemoteAction;
  params: Record<string, unknown>;
  /** Path, pattern or command, for the record; cut to 200 characters. */
  target: string;
  description?: string;
  timeoutMs: number;
  /** Shape of the data that a whole result has. */
  data: S;
}

/** What a tool makes of a device's data. */
export interface Finished<T> {
  output: T;
  content: ContentBlock[];
  isError?: boolean;
  completion: Completion;
  /** Paths of the instruction files that go with the answer. */
  instructions?: string[];
}

/** The machine, where it exists for this caller; else `not_found` with those that are online. */
export function machineOf(ctx: ToolContext, name: string): Machine {
  const machine = ctx.get(Machines).for(name, ctx);
  if (machine !== undefined) return machine;
  const online_devices = onlineDevices(ctx);
  throw notFound('device', 'is no registered machine', onlineText(online_devices), { details: { online_devices } });
}

/**
 * One command from its record to its record: issued, sent, and completed or failed. What `finish` throws about the data
 * counts as a fault of the device.
 */
export async function runCommand<S extends z.ZodObject, T>(
  ctx: ToolContext,
  command: RemoteCommand<S>,
  finish: (data: z.output<S>) => Finished<T> | Promise<Finished<T>>,
): Promise<ToolResult<T>> {
  const { device, action, params, timeoutMs } = command;
  const hub = ctx.get(DeviceHub);
  // Of the call's own ids, so that a repeat under one idempotency key meets this command and does not run it again.
  const id = sha256Hex(ctx.newId()).slice(0, 16);
  const issue = {
    type: 'IssueCommand' as const,
    at: ctx.now(),
    command_id: id,
    device,
    action,
    // Before it is cut: half a secret has no shape that could be known.
    target: firstChars(redact(command.target), 200),
    description: command.description ?? '',
    offline: !hub.isOnline(device),
  };
  if (issue.offline) {
    // Nothing ran: the same call with the same key may come again, and must not meet this commit as its own.
    await commit(ctx, id, issue);
    const online_devices = onlineDevices(ctx);
    throw unavailable('device', `${device} is not connected`, onlineText(online_devices), {
      reason: 'device_offline',
      details: { device, online_devices },
    });
  }
  await ctx.execute(remoteCommand, id, issue);
  try {
    const answer = await hub.run(device, { commandId: id, action, params, timeoutMs }, requestOf(ctx), ctx.signal);
    const parsed = command.data.safeParse(answer);
    if (!parsed.success) throw deviceFault(device, 'device_error', shortly(parsed.error));
    const { output, content, isError, completion, instructions = [] } = await finish(parsed.data);
    const at = new Date().toISOString();
    await ctx.execute(remoteCommand, id, { type: 'CompleteCommand', at, completion, instructions });
    return result(output, {
      content,
      ...(isError && { isError }),
      meta: { 'cortex/provenance': { device, trust: 'untrusted' } },
    });
  } catch (error) {
    // Whatever broke: a command that was issued has one end on record.
    await recordFailure(
      ctx,
      id,
      isCortexError(error) ? error : internal(undefined, 'its result could not be taken', ''),
    );
    throw error;
  }
}

async function recordFailure(ctx: ToolContext, id: string, error: CortexError): Promise<void> {
  const message = firstChars(redact(error.message), 500);
  await commit(ctx, id, { type: 'FailCommand', reason: failureOf(error), message }).catch((cause: unknown) =>
    ctx.log.warn({ err: cause, command_id: id }, 'a failed command could not be recorded'),
  );
}

/** A commit in the caller's name that is also made when the call was given up, and that has an id of its own each time. */
async function commit(ctx: ToolContext, id: string, command: CommandCommand): Promise<void> {
  const { session_id, project } = ctx.scope;
  await ctx.get<EventStore>(STORE).execute(remoteCommand, ctx.workspace, id, command, {
    commitId: randomUUID(),
    at: new Date().toISOString(),
    actor: { kind: ctx.caller.type, id: ctx.caller.id },
    ...(session_id !== undefined && { session_id }),
    ...(project !== undefined && { project }),
    correlation_id: ctx.call_id,
    causation_id: ctx.call_id,
  });
}

const requestOf = (ctx: ToolContext): BusRequest => ({
  v: 1,
  call_id: ctx.call_id,
  workspace_id: ctx.workspace,
  principal: ctx.caller,
  scope: ctx.scope,
  args: {},
  deadline_ms: ctx.deadline_ms,
});

/** Names that are connected now and open to this caller. */
function onlineDevices(ctx: ToolContext): string[] {
  const hub = ctx.get(DeviceHub);
  const machines = ctx.get(Machines);
  return [...machines.all().keys()].filter((name) => hub.isOnline(name) && machines.for(name, ctx) !== undefined);
}

const onlineText = (names: readonly string[]): string =>
  names.length === 0 ? 'no device is online now' : `online now: ${names.join(', ')}`;

const shortly = (error: z.ZodError): string => {
  const [issue] = error.issues;
  return `${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`.trim().slice(0, 200);
};
