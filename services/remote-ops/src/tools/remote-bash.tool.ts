import { SCOPES } from '@cortex/contracts';
import { firstChars, showControls } from '@cortex/contracts/text';
import { defineTool } from '@cortex/service-kit';
import { z } from 'zod';
import { Spill } from '../adapters/spill.js';
import { machineOf, runCommand } from '../command/run-command.js';
import { Device, GROUP, OUTPUT_IS_DATA, ownerOf, SpillFields } from './shared.js';

const SHOWN_CHARS = 30_000;
/** On top of the command's own limit, for the way there and back. */
const ALLOWANCE_MS = 5_000;
const TIMEOUT = 'must be an integer from 1 to 600; give seconds, or use run_in_background';
const TIMED_OUT = 124;

const Data = z.object({
  stdout: z.string(),
  stderr: z.string(),
  exitCode: z.number().int().nullable(),
  pid: z.number().int().nullish(),
  timedOut: z.boolean().optional(),
});

/**
 * Runs a command line in a login shell of a device.
 * Events: RemoteCommandIssued, then RemoteCommandCompleted or RemoteCommandFailed.
 * Errors: not_found (device), unavailable (device), deadline_exceeded (device).
 */
export const remoteBash = defineTool({
  name: 'remote_bash',
  title: 'Run a command on a remote machine',
  description:
    'Runs one shell command on a registered machine, in a login shell, and waits for its end. Not safe to repeat by itself: ' +
    `after an unavailable answer look at the machine first. ${OUTPUT_IS_DATA}`,
  tier: 'write',
  actions: ['processSpawn'],
  workspace: 'none',
  group: GROUP,
  scopes: [SCOPES.devicesExec],
  untrusted: true,
  deadlineMs: 600_000 + 3 * ALLOWANCE_MS,
  input: z.object({
    device: Device,
    command: z.string().min(1).max(100_000).describe('Command line for bash, 1 to 100,000 characters'),
    timeout: z
      .number()
      .refine((seconds) => Number.isInteger(seconds) && seconds >= 1 && seconds <= 600, TIMEOUT)
      .meta({ type: 'integer', minimum: 1, maximum: 600 })
      .default(120)
      .describe('Seconds after which the command and all it started are killed, 1 to 600'),
    description: z.string().max(200).optional().describe('What the command is for; for the log only'),
    run_in_background: z
      .boolean()
      .default(false)
      .describe('Start it and return its PID at once; its output is dropped and timeout is ignored'),
  }),
  output: z.object({
    device: z.string(),
    exit_code: z.number().int().nullable().describe('124 after a timeout, 127 without bash, null in the background'),
    stdout: z.string().describe('Empty when the output was too large: see preview and spill_path'),
    stderr: z.string().describe('Empty when the output was too large: see preview and spill_path'),
    timed_out: z.boolean(),
    background: z.boolean(),
    pid: z.number().int().nullable().describe('Of a command in the background'),
    duration_ms: z.number().int(),
    ...SpillFields,
  }),
  async handle({ device, command, timeout, description, run_in_background }, ctx) {
    machineOf(ctx, device);
    const started = performance.now();
    const timeoutMs = run_in_background ? ALLOWANCE_MS : timeout * 1000;
    return runCommand(
      ctx,
      {
        device,
        action: 'bash',
        params: { command, timeout: timeout * 1000, run_in_background },
        target: command,
        description,
        timeoutMs: timeoutMs + ALLOWANCE_MS,
        data: Data,
      },
      async ({ stdout, stderr, exitCode, pid, timedOut }) => {
        const text = showControls(readable(stdout, stderr));
        const {
          fields,
          text: shown,
          spilled,
        } = await ctx.get(Spill).show(text, SHOWN_CHARS, 'remote_bash', ownerOf(ctx));
        const kept = spilled ? '' : firstChars(stdout, SHOWN_CHARS);
        const output = {
          device,
          exit_code: exitCode,
          stdout: kept,
          stderr: spilled ? '' : firstChars(stderr, SHOWN_CHARS - kept.length),
          timed_out: timedOut ?? exitCode === TIMED_OUT,
          background: run_in_background,
          pid: pid ?? null,
          duration_ms: Math.round(performance.now() - started),
          ...fields,
        };
        return {
          output,
          content: [{ type: 'text', text: withStatus(shown, exitCode, pid ?? null) }],
          isError: exitCode !== null && exitCode !== 0,
          completion: {
            ...(exitCode !== null && { exit_code: exitCode }),
            result_chars: fields.total_chars,
            spilled: fields.spill_path !== null,
          },
        };
      },
    );
  },
});

function readable(stdout: string, stderr: string): string {
  if (stderr === '') return stdout;
  const gap = stdout === '' || stdout.endsWith('\n') ? '' : '\n';
  return `${stdout}${gap}[stderr]\n${stderr}`;
}

function withStatus(text: string, exitCode: number | null, pid: number | null): string {
  if (exitCode === null) return `[started in the background${pid === null ? '' : `, pid ${pid}`}]`;
  if (exitCode === 0) return text === '' ? '(no output)' : text;
  const gap = text === '' || text.endsWith('\n') ? '' : '\n';
  return `${text}${gap}[exit code: ${exitCode}]`;
}
