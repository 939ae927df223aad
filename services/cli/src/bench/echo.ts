import { defineService, defineTool, ServiceKit } from '@cortex/service-kit';
import { Module } from '@nestjs/common';
import { z } from 'zod';
import { TOOL } from './request.js';

const text = z.string().describe('Text that comes back');

const echo = defineTool({
  name: TOOL,
  title: 'Echo',
  description: 'Gives back the text. Exists while the bench runs.',
  tier: 'read',
  actions: [],
  workspace: 'none',
  input: z.object({ text }),
  output: z.object({ text }),
  handle: ({ text }) => ({ text }),
});

/** Stands in for a service; it borrows the name of one, since bus users and subjects are those of the ten. */
export const echoService = defineService({ name: 'waitpoint', config: z.object({}), tools: [echo], migrations: {} });

@Module({ imports: [ServiceKit.forService(echoService)] })
export class EchoModule {}
