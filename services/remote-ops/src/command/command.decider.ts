import { conflict } from '@cortex/contracts';
import type { RemoteAction, RemoteCommandEvent } from '@cortex/contracts/device';
import { defineDecider } from '@cortex/eventstore';

type DataOf<Type extends RemoteCommandEvent['type']> = Extract<RemoteCommandEvent, { type: Type }>['data'];
export type FailureReason = DataOf<'RemoteCommandFailed'>['reason'];
/** What of a result is recorded: sizes, never text. */
export type Completion = Omit<DataOf<'RemoteCommandCompleted'>, 'command_id' | 'device' | 'action' | 'duration_ms'>;

export type CommandCommand =
  | {
      type: 'IssueCommand';
      at: string;
      command_id: string;
      device: string;
      action: RemoteAction;
      target: string;
      description: string;
      offline: boolean;
    }
  | { type: 'CompleteCommand'; at: string; completion: Completion; instructions: string[] }
  | { type: 'FailCommand'; reason: FailureReason; message: string };

type State =
  | { status: 'none' }
  | { status: 'issued'; command_id: string; device: string; action: RemoteAction; issued_at: string }
  | { status: 'settled' };

const OFFLINE = 'the device is not connected';

/** One command on a device, from being sent to its one end. */
export const remoteCommand = defineDecider<CommandCommand, RemoteCommandEvent, State>({
  subject: 'remote-ops.command',
  initial: { status: 'none' },
  decide(command, state) {
    switch (command.type) {
      case 'IssueCommand': {
        // The id is made of the caller's idempotency key: who meets it again must not run the command a second time.
        if (state.status !== 'none') {
          throw conflict(
            'idempotency key',
            'was used for a command that was sent before and whose result is not known',
            'look at the device, then call with a new key',
            { reason: 'already_settled' },
          );
        }
        const { command_id, device, action, target, description } = command;
        const issued = {
          type: 'RemoteCommandIssued' as const,
          data: { command_id, device, action, target, description },
        };
        if (!command.offline) return [issued];
        const data = { command_id, device, action, reason: 'offline' as const, message: OFFLINE };
        return [issued, { type: 'RemoteCommandFailed', data }];
      }
      case 'CompleteCommand': {
        if (state.status !== 'issued') return []; // a late second result
        const { command_id, device, action, issued_at } = state;
        const duration_ms = Math.max(0, Date.parse(command.at) - Date.parse(issued_at));
        const completed = { command_id, device, action, duration_ms, ...command.completion };
        const { instructions: paths } = command;
        return [
          { type: 'RemoteCommandCompleted', data: completed },
          ...(paths.length > 0 ? [{ type: 'InstructionsAttached' as const, data: { device, paths } }] : []),
        ];
      }
      case 'FailCommand': {
        if (state.status !== 'issued') return [];
        const { command_id, device, action } = state;
        const { reason, message } = command;
        return [{ type: 'RemoteCommandFailed', data: { command_id, device, action, reason, message } }];
      }
    }
  },
  evolve(state, { type, data, at }) {
    switch (type) {
      case 'RemoteCommandIssued': {
        const { command_id, device, action } = data;
        return { status: 'issued', command_id, device, action, issued_at: at };
      }
      case 'RemoteCommandCompleted':
        return { status: 'settled' };
      case 'RemoteCommandFailed':
        // Nothing was sent, so it may still be.
        return { status: data.reason === 'offline' ? 'none' : 'settled' };
      case 'InstructionsAttached':
        return state;
    }
  },
});
