import { SCOPES } from '@cortex/contracts';
import { showControls } from '@cortex/contracts/text';
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

const SHOWN_CHARS = 100_000;
const MOST = 500;

const Data = z.object({ files: z.array(z.string()).max(MOST), truncated: z.boolean() });

/**
 * Lists files of a device by a glob pattern.
 * Events: RemoteCommandIssued, then RemoteCommandCompleted or RemoteCommandFailed.
 * Errors: not_found (path), invalid_argument (pattern), deadline_exceeded (path).
 */
export const remoteGlob = defineTool({
  name: 'remote_glob',
  title: 'Find files on a remote machine',
  description:
    'Lists files of a registered machine whose path matches a glob pattern such as **/*.ts, in name order, at most 500. ' +
    `Version control folders, node_modules and caches are left out. Safe to repeat. ${OUTPUT_IS_DATA}`,
  tier: 'read',
  actions: [],
  workspace: 'none',
  group: GROUP,
  scopes: [SCOPES.devicesRead],
  untrusted: true,
  deadlineMs: FILE_DEADLINE_MS,
  input: z.object({
    device: Device,
    pattern: z.string().min(1).describe('Glob below the folder: * within a folder, ** across folders'),
    path: z.string().min(1).optional().describe("Folder to search; default: the machine's own folder"),
  }),
  output: z.object({
    device: z.string(),
    pattern: z.string(),
    path: z.string(),
    files: z.array(z.string()).describe('Absolute paths; empty when the list was too large: see spill_path'),
    count: z.number().int().describe('Files found, at most 500'),
    ...SpillFields,
  }),
  async handle({ device, pattern, path: given }, ctx) {
    const path = searchPath(given, machineOf(ctx, device).cortexPath);
    return runCommand(
      ctx,
      {
        device,
        action: 'glob',
        params: { pattern, path },
        target: pattern,
        timeoutMs: FILE_TIMEOUT_MS,
        data: Data,
      },
      async ({ files, truncated }) => {
        const list = showControls(files.join('\n'));
        const { fields, text, spilled } = await ctx.get(Spill).show(list, SHOWN_CHARS, 'remote_glob', ownerOf(ctx));
        const note = truncated ? `\n[only the first ${MOST}; use a narrower pattern or path]` : '';
        return {
          output: {
            device,
            pattern,
            path,
            files: spilled ? [] : files,
            count: files.length,
            ...fields,
            truncated: truncated || fields.truncated,
          },
          content: [{ type: 'text', text: files.length === 0 ? '(no files match)' : text + note }],
          completion: { result_chars: fields.total_chars, spilled: fields.spill_path !== null },
        };
      },
    );
  },
});
