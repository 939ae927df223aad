import { defineService, ServiceKit } from '@cortex/service-kit';
import { Module } from '@nestjs/common';
import { DeviceSpools } from './adapters/device-spools.js';
import { LocalSpool } from './adapters/local-spool.js';
import { Places } from './adapters/places.js';
import { Rejections } from './adapters/rejections.js';
import { Signals } from './adapters/signals.js';
import { Sweeper } from './adapters/sweeper.js';
import { Wakes } from './adapters/wakes.js';
import { signal } from './commands/signal.js';
import { config } from './config.js';
import { migrations } from './projections/tables.js';
import { waitpoints } from './projections/waitpoints.projection.js';
import { rejections } from './queries/rejections.js';
import { wakes } from './reactors/wakes.reactor.js';
import { tools } from './tools/registry.js';

export const waitpointService = defineService({
  name: 'waitpoint',
  config,
  tools,
  queries: [rejections],
  commands: [signal],
  projections: [waitpoints],
  reactors: [wakes],
  migrations,
  stateTables: ['rejections'],
  providers: [Places, Rejections, Signals, Wakes, LocalSpool, DeviceSpools, Sweeper],
  stopping: (get) => get(Sweeper).stop(),
});

@Module({ imports: [ServiceKit.forService(waitpointService)] })
export class WaitpointModule {}
