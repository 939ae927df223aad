import { defineService, ServiceKit } from '@cortex/service-kit';
import { Module } from '@nestjs/common';
import { config } from './config.js';
import { migrations } from './projections/tables.js';
import { tools } from './tools/registry.js';

export const sessionService = defineService({ name: 'session', config, tools, migrations });

@Module({ imports: [ServiceKit.forService(sessionService)] })
export class SessionModule {}
