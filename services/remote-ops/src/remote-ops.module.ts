import { defineService, ServiceKit } from '@cortex/service-kit';
import { Module } from '@nestjs/common';
import { DeviceHub } from './adapters/device-hub.js';
import { DeviceLog } from './adapters/device-log.js';
import { DeviceServer } from './adapters/device-server.js';
import { MachineList } from './adapters/machine-list.js';
import { Machines } from './adapters/machines.js';
import { NotesShown } from './adapters/notes-shown.js';
import { Spill } from './adapters/spill.js';
import { addDevice } from './commands/add-device.js';
import { devices as devicesQuery } from './queries/devices.js';
import { reachableDevices } from './queries/reachable-devices.js';
import { issueJoinCode } from './commands/issue-join-code.js';
import { readSpool } from './commands/read-spool.js';
import { removeSpool } from './commands/remove-spool.js';
import { revokeDevice } from './commands/revoke-device.js';
import { config } from './config.js';
import { devices } from './projections/devices.projection.js';
import { migrations } from './projections/tables.js';
import { tools } from './tools/registry.js';

export const remoteOpsService = defineService({
  name: 'remote-ops',
  config,
  tools,
  queries: [devicesQuery, reachableDevices],
  commands: [addDevice, issueJoinCode, revokeDevice, readSpool, removeSpool],
  projections: [devices],
  migrations,
  providers: [Machines, MachineList, DeviceLog, DeviceHub, DeviceServer, Spill, NotesShown],
  describe: (tool, get) => (tool.name === tools[0]!.name ? get(MachineList).appendTo(tool) : tool),
  stopping: (get) => get(DeviceServer).stop(),
});

@Module({ imports: [ServiceKit.forService(remoteOpsService)] })
export class RemoteOpsModule {}
