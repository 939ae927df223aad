import {
  CortexError,
  failedPrecondition,
  invalidArgument,
  isCortexError,
  notFound,
  permissionDenied,
  resourceExhausted,
} from '@cortex/contracts';
import {
  DEVICE_ACTIONS,
  DEVICE_FRAME_LIMIT,
  type CommandFrame,
  type DeviceAction,
  type ResultFrame,
} from '@cortex/contracts/device-wire';
import { runBash } from './actions/bash.js';
import { editFile } from './actions/edit.js';
import { globFiles } from './actions/glob.js';
import { grepFiles } from './actions/grep.js';
import { readFileAction } from './actions/read.js';
import { statFile } from './actions/stat.js';
import { writeFileAction } from './actions/write.js';
import { findRipgrep } from './ripgrep.js';

/** What an action gets beside its params. */
export interface ActionContext {
  /** Data root of this device. */
  home: string;
  /** Aborts on cancel, at the command's time limit and when the client stops. */
  signal: AbortSignal;
  /** Path of ripgrep; null where there is none. */
  rg: string | null;
}

type Params = Record<string, unknown>;
type Action = (params: Params, context: ActionContext) => Promise<Record<string, unknown>>;

const ACTIONS: Record<DeviceAction, Action> = {
  bash: runBash,
  read: readFileAction,
  write: writeFileAction,
  edit: editFile,
  glob: globFiles,
  grep: grepFiles,
  'file.stat': statFile,
};

/** Runs commands side by side and knows how to end each. */
export class CommandRunner {
  readonly #running = new Map<string, AbortController>();
  readonly #rg = findRipgrep();

  constructor(private readonly home: string) {}

  get capabilities(): string[] {
    return this.#rg === null ? [] : ['rg'];
  }

  /** The result to send; null for a command that runs already or has no id. */
  async run(frame: CommandFrame): Promise<ResultFrame | null> {
    const { commandId, action, params, timeout } = frame;
    if (typeof commandId !== 'string' || this.#running.has(commandId)) return null;
    const abort = new AbortController();
    this.#running.set(commandId, abort);
    const timer = setTimeout(() => abort.abort(), Number.isFinite(timeout) && timeout > 0 ? timeout : 600_000);
    try {
      if (!DEVICE_ACTIONS.includes(action)) {
        throw invalidArgument('action', 'is unknown to this client', 'update the device client');
      }
      const data = await ACTIONS[action](params ?? {}, { home: this.home, signal: abort.signal, rg: this.#rg });
      return fitting({ type: 'result', commandId, success: true, data });
    } catch (error) {
      return failure(commandId, asCortexError(error));
    } finally {
      clearTimeout(timer);
      this.#running.delete(commandId);
    }
  }

  cancel(commandId: string): void {
    this.#running.get(commandId)?.abort();
  }

  stop(): void {
    for (const abort of this.#running.values()) abort.abort();
  }
}

/** The server takes no frame over the limit, and would close the connection at one. */
function fitting(result: ResultFrame & { success: true }): ResultFrame {
  if (sizeOf(result) <= DEVICE_FRAME_LIMIT) return result;
  const bare = { ...result, data: { ...result.data, instructions: [] } };
  if (sizeOf(bare) <= DEVICE_FRAME_LIMIT) return bare;
  const error = resourceExhausted('answer', 'is over 16 MiB as a message', 'ask for a smaller part');
  return failure(result.commandId, error);
}

const sizeOf = (result: ResultFrame): number => Buffer.byteLength(JSON.stringify(result));

function failure(commandId: string, error: CortexError): ResultFrame {
  const { kind, reason, field, message, details } = error.toWire();
  return {
    type: 'result',
    commandId,
    success: false,
    error: message,
    kind,
    ...(reason && { reason }),
    ...(field !== undefined && { field }),
    ...(details && { details }),
  };
}

/** The operating system's refusals in our words. */
function asCortexError(error: unknown): CortexError {
  if (isCortexError(error)) return error;
  const { path, message, ...rest } = error as NodeJS.ErrnoException;
  const code = rest.code ?? '';
  switch (code) {
    case 'ENOENT':
      return notFound('file_path', 'does not exist on the device', 'find it with remote_glob');
    case 'ENOTDIR':
      return notFound('file_path', 'has a part that is no folder', 'find it with remote_glob');
    case 'EISDIR':
      return failedPrecondition('file_path', 'is a folder', 'name a file');
    case 'ELOOP':
      return failedPrecondition('file_path', 'is a link that leads in a circle', 'name another file');
    case 'ENAMETOOLONG':
      return invalidArgument('file_path', 'is too long for the device', 'use a shorter path');
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return permissionDenied('file_path', `is out of reach for the device's user (${code})`, 'use another path', {
        reason: 'forbidden',
      });
    case 'ENOSPC':
    case 'EDQUOT':
      return resourceExhausted('file_path', `cannot be written: no space left on the device (${code})`, 'free some');
    default:
      return failedPrecondition(path ?? undefined, code ? `failed on the device: ${code}` : message, 'see the device');
  }
}
