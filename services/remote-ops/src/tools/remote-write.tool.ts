import { invalidArgument, SCOPES } from '@cortex/contracts';
import { DEVICE_FILE_LIMIT, DEVICE_FRAME_LIMIT } from '@cortex/contracts/device-wire';
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

const Data = z.object({ bytes: z.number().int().min(0), created: z.boolean(), instructions: DeviceInstructions });

/**
 * Creates or replaces a file of a device.
 * Events: RemoteCommandIssued, then RemoteCommandCompleted or RemoteCommandFailed; InstructionsAttached.
 * Errors: invalid_argument (file_path, content), permission_denied (file_path), failed_precondition (file_path).
 */
export const remoteWrite = defineTool({
  name: 'remote_write',
  title: 'Write a file on a remote machine',
  description:
    'Creates or replaces a file of a registered machine, with the folders above it; a file with CRLF line ends keeps them. ' +
    `Read a file before you replace it; for a small change use remote_edit. The same content may be sent again. ${OUTPUT_IS_DATA}`,
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
    content: z.string().describe('The whole new content, at most 10 MB; may be empty'),
  }),
  output: z.object({
    device: z.string(),
    file_path: z.string(),
    bytes: z.number().int().describe('Bytes of the file now'),
    created: z.boolean().describe('False when it replaced a file'),
    instructions: InstructionList,
  }),
  async handle({ device, file_path, content }, ctx) {
    machineOf(ctx, device);
    const size = Buffer.byteLength(content);
    if (size > DEVICE_FILE_LIMIT) {
      throw invalidArgument('content', `has ${size} bytes, limit ${DEVICE_FILE_LIMIT}`, 'write it in parts', {
        reason: 'too_large',
        details: { limit: DEVICE_FILE_LIMIT, actual: size },
      });
    }
    return runCommand(
      ctx,
      {
        device,
        action: 'write',
        params: paramsOf(file_path, content),
        target: file_path,
        timeoutMs: FILE_TIMEOUT_MS,
        data: Data,
      },
      ({ bytes, created, instructions }) => {
        const { blocks, list } = attachInstructions(ctx, device, instructions);
        const text = `${created ? 'Created' : 'Replaced'} ${showControls(file_path)} on ${device}, ${bytes} bytes.`;
        return {
          output: { device, file_path, bytes, created, instructions: list },
          content: [{ type: 'text', text }, ...blocks],
          completion: { bytes, result_chars: text.length, spilled: false },
          instructions: list.map(({ path }) => path),
        };
      },
    );
  },
});

/** JSON writes a control character in six bytes: content that would not fit a frame so goes as base64. */
function paramsOf(file_path: string, content: string): Record<string, unknown> {
  const room = DEVICE_FRAME_LIMIT - 64 * 1024;
  if (content.length * 6 <= room || Buffer.byteLength(JSON.stringify(content)) <= room) return { file_path, content };
  return { file_path, content: Buffer.from(content, 'utf8').toString('base64'), encoding: 'base64' };
}
