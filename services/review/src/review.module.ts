import { defineService, ServiceKit } from '@cortex/service-kit';
import { Module } from '@nestjs/common';
import { config } from './config.js';
import { migrations } from './projections/tables.js';
import { tools } from './tools/registry.js';

export const reviewService = defineService({ name: 'review', config, tools, migrations });

@Module({ imports: [ServiceKit.forService(reviewService)] })
export class ReviewModule {}
