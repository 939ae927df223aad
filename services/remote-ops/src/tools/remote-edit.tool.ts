import { invalidArgument, SCOPES } from '@cortex/contracts';
import { showControls } from '@cortex/contracts/text';
import { defineTool } from '@cortex/service-kit';
import { z } from 'zod';
import { machineOf, runCommand } from '../command/run-command.js';
import {
  attachInstructions,
  Device,
  DeviceInstructions,
  FILE_DEADLINE_MS,
  FILE_TIMEOUT_MS,
  FilePath,
  GROUP,
  InstructionList,
  OUTPUT_IS_DATA,
} from './shared.js';

const Data = z.object({ replacements: z.number().int().min(1), instructions: DeviceInstructions });

/**
 * Replaces an exact text in a file of a device.
 * Events: RemoteCommandIssued, then RemoteCommandCompleted or RemoteCommandFailed; InstructionsAttached.
 * Errors: invalid_argument, not_found (file_path), conflict (old_string, file_path).
 */
export const remoteEdit = defineTool({
  name: 'remote_edit',
  title: 'Edit a file on a remote machine',
  description:
    'Replaces an exact text in a file of a registered machine; read the file first. Line ends may differ, everything else must ' +
    'match, and without replace_all the text must occur once. After an unavailable answer read the file before you repeat. ' +
    OUTPUT_IS_DATA,
  tier: 'write',
  actions: ['fileWriteOutsideWorktree'],
  workspace: 'none',
  group: GROUP,
  scopes: [SCOPES.devicesWrite],
  untrusted: true,
  deadlineMs: FILE_DEADLINE_MS,
  input: z.object({
    device: Device,
    file_path: FilePath,
    old_string: z.string().min(1).describe('Text to replace, as it stands in the file'),
    new_string: z.string().describe('Text to put there; taken literally'),
    replace_all: z.boolean().default(false).describe('Replace every occurrence'),
  }),
  output: z.object({
    device: z.string(),
    file_path: z.string(),
    replacements: z.number().int(),
    instructions: InstructionList,
  }),
  async handle({ device, file_path, old_string, new_string, replace_all }, ctx) {
    machineOf(ctx, device);
    if (old_string === new_string) {
      throw invalidArgument('new_string', 'is the same as old_string', 'give the text to put in its place');
    }
    return runCommand(
      ctx,
      {
        device,
        action: 'edit',
        params: { file_path, old_string, new_string, replace_all },
        target: file_path,
        timeoutMs: FILE_TIMEOUT_MS,
        data: Data,
      },
      ({ replacements, instructions }) => {
        const { blocks, list } = attachInstructions(ctx, device, instructions);
        const times = replacements === 1 ? 'once' : `${replacements} times`;
        const text = `Replaced ${times} in ${showControls(file_path)} on ${device}.`;
        return {
          output: { device, file_path, replacements, instructions: list },
          content: [{ type: 'text', text }, ...blocks],
          completion: { result_chars: text.length, spilled: false },
          instructions: list.map(({ path }) => path),
        };
      },
    );
  },
});
