import { SCOPES } from '@cortex/contracts';
import { firstChars, showControls } from '@cortex/contracts/text';
import { defineTool } from '@cortex/service-kit';
import { z } from 'zod';
import { Spill } from '../adapters/spill.js';
import { machineOf, runCommand } from '../command/run-command.js';
import {
  Device,
  FILE_DEADLINE_MS,
  FILE_TIMEOUT_MS,
  GROUP,
  OUTPUT_IS_DATA,
  ownerOf,
  searchPath,
  SpillFields,
} from './shared.js';

const SHOWN_CHARS = 20_000;

const Data = z.object({
  output: z.string(),
  entries: z.number().int().min(0),
  remaining: z.number().int().min(0),
  engine: z.enum(['rg', 'grep']),
});
const Lines = z.number().int().min(0).optional();

/**
 * Searches file contents of a device.
 * Events: RemoteCommandIssued, then RemoteCommandCompleted or RemoteCommandFailed.
 * Errors: invalid_argument (pattern, type, glob), not_found (path), failed_precondition (type, multiline), deadline_exceeded.
 */
export const remoteGrep = defineTool({
  name: 'remote_grep',
  title: 'Search in files on a remote machine',
  description:
    'Searches the contents of files of a registered machine with ripgrep. Begins with the names of matching files; use ' +
    `output_mode content for the lines. Version control folders and node_modules are skipped. Safe to repeat. ${OUTPUT_IS_DATA}`,
  tier: 'read',
  actions: [],
  workspace: 'none',
  group: GROUP,
  scopes: [SCOPES.devicesRead],
  untrusted: true,
  deadlineMs: FILE_DEADLINE_MS,
  input: z.object({
    device: Device,
    pattern: z.string().min(1).describe("Regular expression of ripgrep's syntax"),
    path: z.string().min(1).optional().describe("File or folder to search; default: the machine's own folder"),
    glob: z.string().min(1).optional().describe('Only files whose name matches, such as *.{ts,tsx}'),
    type: z
      .string()
      .regex(/^[a-z0-9]+$/, 'is no file type of ripgrep; use one such as ts, py or rust')
      .optional()
      .describe('Only files of this ripgrep type, such as ts, py or rust'),
    output_mode: z
      .enum(['content', 'files_with_matches', 'count'])
      .default('files_with_matches')
      .describe('Matching lines, names of files, or matches per file'),
    '-A': Lines.describe('Lines after each match; content mode'),
    '-B': Lines.describe('Lines before each match; content mode'),
    '-C': Lines.describe('Lines around each match; content mode'),
    context: Lines.describe('The same as -C, which wins'),
    '-i': z.boolean().default(false).describe('Ignore case'),
    '-n': z.boolean().default(true).describe('Line numbers; content mode'),
    head_limit: z.number().int().min(0).default(250).describe('Entries to return; 0: all'),
    offset: z.number().int().min(0).default(0).describe('Entries to skip first'),
    multiline: z.boolean().default(false).describe('The pattern may span lines, and a dot matches their ends'),
  }),
  output: z.object({
    device: z.string(),
    pattern: z.string(),
    output_mode: z.enum(['content', 'files_with_matches', 'count']),
    output: z.string().describe('One entry per line; empty when it was too large: see preview and spill_path'),
    entries: z.number().int().describe('Entries in this answer'),
    remaining: z.number().int().describe('Entries after these'),
    engine: z.enum(['rg', 'grep']),
    ...SpillFields,
  }),
  async handle({ device, path: given, ...search }, ctx) {
    const path = searchPath(given, machineOf(ctx, device).cortexPath);
    const { pattern, output_mode, offset } = search;
    return runCommand(
      ctx,
      {
        device,
        action: 'grep',
        params: { ...search, path },
        target: pattern,
        timeoutMs: FILE_TIMEOUT_MS,
        data: Data,
      },
      async ({ output, entries, remaining, engine }) => {
        const { fields, text, spilled } = await ctx
          .get(Spill)
          .show(showControls(output), SHOWN_CHARS, 'remote_grep', ownerOf(ctx));
        const more = remaining > 0 ? `\n[${remaining} more entries; use offset ${offset + entries}]` : '';
        return {
          output: {
            device,
            pattern,
            output_mode,
            output: spilled ? '' : firstChars(output, SHOWN_CHARS),
            entries,
            remaining,
            engine,
            ...fields,
          },
          content: [{ type: 'text', text: entries === 0 && remaining === 0 ? '(no matches)' : text + more }],
          completion: { result_chars: fields.total_chars, spilled: fields.spill_path !== null },
        };
      },
    );
  },
});
