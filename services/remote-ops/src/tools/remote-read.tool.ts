import { resourceExhausted, SCOPES } from '@cortex/contracts';
import { DEVICE_FILE_LIMIT } from '@cortex/contracts/device-wire';
import { charCount, showControls } from '@cortex/contracts/text';
import { defineTool, type ContentBlock } from '@cortex/service-kit';
import { z } from 'zod';
import { deviceFault } from '../adapters/device-fault.js';
import { imageFacts } from '../adapters/image-size.js';
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

const PIXELS = 50_000_000;

const Count = z.number().int().min(0);
const Base64 = z.string().max(Math.ceil(DEVICE_FILE_LIMIT / 3) * 4);
const Data = z.object({
  content: z.string().optional(),
  start_line: Count.optional(),
  line_count: Count.optional(),
  total_lines: Count.optional(),
  image: z.object({ data: Base64 }).optional(),
  pdf: z.object({ data: Base64 }).optional(),
  instructions: DeviceInstructions,
});

const Image = z.object({
  mime_type: z.string(),
  width: z.number().int(),
  height: z.number().int(),
  original_width: z.number().int(),
  original_height: z.number().int(),
  original_bytes: z.number().int(),
  approx_tokens: z.number().int(),
});

/**
 * Reads a file of a device: text with line numbers, an image, or a PDF.
 * Events: RemoteCommandIssued, then RemoteCommandCompleted or RemoteCommandFailed; InstructionsAttached.
 * Errors: invalid_argument, not_found (file_path), resource_exhausted (file_path), failed_precondition (file_path).
 */
export const remoteRead = defineTool({
  name: 'remote_read',
  title: 'Read a file on a remote machine',
  description:
    'Reads a file of a registered machine: text with line numbers, an image (JPEG, PNG, GIF, WebP, BMP) or a PDF, up to 10 MB. ' +
    `Notes of the project (AGENTS.md) that apply to the file come along once. Safe to repeat. ${OUTPUT_IS_DATA}`,
  tier: 'read',
  actions: [],
  workspace: 'none',
  group: GROUP,
  scopes: [SCOPES.devicesRead],
  untrusted: true,
  deadlineMs: FILE_DEADLINE_MS,
  input: z.object({
    device: Device,
    file_path: FilePath,
    offset: z.number().int().min(0).default(0).describe('Lines to skip'),
    limit: z.number().int().min(1).default(2000).describe('Lines to read'),
  }),
  output: z.object({
    device: z.string(),
    file_path: z.string(),
    kind: z.enum(['text', 'image', 'pdf']),
    content: z.string().nullable().describe('Lines as <number><TAB><line>; null for an image or PDF'),
    start_line: z.number().int().describe('Number of the first line shown, from 1'),
    line_count: z.number().int().describe('Lines shown'),
    total_lines: z.number().int().describe('Lines of the file'),
    image: Image.nullable(),
    pdf: z.object({ bytes: z.number().int() }).nullable(),
    instructions: InstructionList,
  }),
  async handle({ device, file_path, offset, limit }, ctx) {
    machineOf(ctx, device);
    return runCommand(
      ctx,
      {
        device,
        action: 'read',
        params: { file_path, offset, limit },
        target: file_path,
        timeoutMs: FILE_TIMEOUT_MS,
        data: Data,
      },
      (data) => {
        const { blocks, list } = attachInstructions(ctx, device, data.instructions);
        const seen = data.image
          ? imageSeen(device, file_path, data.image.data)
          : data.pdf
            ? pdfSeen(device, file_path, data.pdf.data)
            : textSeen(device, offset, data);
        return {
          output: { ...NOTHING, ...seen.output, device, file_path, instructions: list },
          content: [...seen.content, ...blocks],
          completion: { bytes: seen.bytes, result_chars: seen.chars, spilled: false },
          instructions: list.map(({ path }) => path),
        };
      },
    );
  },
});

const NOTHING = { content: null, start_line: 0, line_count: 0, total_lines: 0, image: null, pdf: null };

interface Seen {
  output: Partial<typeof NOTHING | Record<string, unknown>> & { kind: 'text' | 'image' | 'pdf' };
  content: ContentBlock[];
  bytes: number;
  chars: number;
}

function textSeen(device: string, offset: number, data: z.output<typeof Data>): Seen {
  if (data.content === undefined) throw deviceFault(device, 'device_error', 'neither text nor image nor PDF');
  const total_lines = data.total_lines ?? 0;
  const content = total_lines === 0 ? '(empty file)' : data.content;
  const line_count = data.line_count ?? 0;
  const text = content === '' ? `(no lines from ${offset + 1} on; the file has ${total_lines})` : showControls(content);
  return {
    output: { kind: 'text', content, start_line: data.start_line ?? offset + 1, line_count, total_lines },
    content: [{ type: 'text', text }],
    bytes: Buffer.byteLength(data.content),
    chars: charCount(text),
  };
}

function imageSeen(device: string, path: string, data: string): Seen {
  const bytes = Buffer.from(data, 'base64');
  const facts = imageFacts(bytes);
  if (facts === null) throw deviceFault(device, 'device_error', 'an image without a readable header');
  const { mime_type, width, height } = facts;
  if (width * height > PIXELS) {
    throw resourceExhausted(
      'file_path',
      `is an image of ${width} x ${height}, limit 50 megapixels`,
      'make a smaller copy with remote_bash',
      {
        details: { width, height },
      },
    );
  }
  const clean = bytes.toString('base64');
  const image = {
    mime_type,
    width,
    height,
    original_width: width,
    original_height: height,
    original_bytes: bytes.length,
    approx_tokens: Math.ceil(clean.length * 0.125),
  };
  const text = `[image ${showControls(path)}: ${mime_type}, ${width} x ${height}, ${bytes.length} bytes]`;
  return {
    output: { kind: 'image', image },
    content: [
      { type: 'text', text },
      { type: 'image', data: clean, mimeType: mime_type },
    ],
    bytes: bytes.length,
    chars: text.length,
  };
}

function pdfSeen(device: string, path: string, data: string): Seen {
  const bytes = Buffer.from(data, 'base64');
  if (bytes.toString('latin1', 0, 4) !== '%PDF') throw deviceFault(device, 'device_error', 'a PDF that is none');
  const text = `[PDF ${showControls(path)}: ${bytes.length} bytes]`;
  const uri = `cortex-device://${device}/${path.split(/[\\/]/).filter(Boolean).map(encodeURIComponent).join('/')}`;
  const resource = { uri, mimeType: 'application/pdf', blob: bytes.toString('base64') };
  return {
    output: { kind: 'pdf', pdf: { bytes: bytes.length } },
    content: [
      { type: 'text', text },
      { type: 'resource', resource },
    ],
    bytes: bytes.length,
    chars: text.length,
  };
}
