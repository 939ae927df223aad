/** Events of `remote-ops.device`, aggregate id = the device's name. Source: agent-server, sections 10 and 20. */
export type DeviceEvent =
  | { type: 'DeviceAdded'; data: { device: string } }
  | { type: 'DeviceEnrolled'; data: { device: string; key_sha256: string; public_key: string; by: string } }
  | { type: 'DeviceKeyRotated'; data: { device: string; key_sha256: string; public_key: string; by: string } }
  | { type: 'DeviceRevoked'; data: { device: string; by: string } }
  | { type: 'DeviceJoinCodeIssued'; data: { device: string; code_sha256: string; expires_at: string } }
  | { type: 'DeviceConnected'; data: { device: string; platform: string; capabilities: string[] } }
  | { type: 'DeviceDisconnected'; data: { device: string; reason: string; in_flight: number } }
  | { type: 'DeviceRejected'; data: { device: string | null; code: number; reason: string } };

export type RemoteAction = 'bash' | 'read' | 'write' | 'edit' | 'glob' | 'grep';

/** Events of `remote-ops.command`, one aggregate per command. `target` = path, pattern or first 200 chars of the command. */
export type RemoteCommandEvent =
  | {
      type: 'RemoteCommandIssued';
      data: { command_id: string; device: string; action: RemoteAction; target: string; description: string };
    }
  | {
      type: 'RemoteCommandCompleted';
      data: {
        command_id: string;
        device: string;
        action: RemoteAction;
        duration_ms: number;
        exit_code?: number;
        bytes?: number;
        result_chars: number;
        spilled: boolean;
      };
    }
  | {
      type: 'RemoteCommandFailed';
      data: {
        command_id: string;
        device: string;
        action: RemoteAction;
        reason:
          'offline' | 'timeout' | 'disconnected' | 'heartbeat_timeout' | 'send_failed' | 'device_error' | 'cancelled';
        message: string;
      };
    }
  | { type: 'InstructionsAttached'; data: { device: string; paths: string[] } };
