import type { z } from 'zod';
import { argumentsOf, type Arguments } from './arguments.js';
import type { ToolContext } from './context.js';

export interface EndpointSpec<I extends z.ZodObject> {
  /** Last token of `cortex.query.<service>.<name>` or `cortex.cmd.<service>.<name>`. */
  name: string;
  input: I;
  /** What it returns travels as JSON in `data` of the reply. */
  handle(args: z.output<I>, ctx: ToolContext): unknown;
}

export interface Endpoint<I extends z.ZodObject = z.ZodObject> extends EndpointSpec<I> {
  readonly kind: 'query' | 'cmd';
  readonly arguments: Arguments;
}

/** A question of another service that changes nothing. Who may ask it stands in the access table of the contracts. */
export const defineQuery = <I extends z.ZodObject>(spec: EndpointSpec<I>): Endpoint<I> => ({
  ...spec,
  kind: 'query',
  arguments: argumentsOf(spec.input, 'none'),
});

/** A command of another service. Who may send it stands in the access table of the contracts. */
export const defineCommand = <I extends z.ZodObject>(spec: EndpointSpec<I>): Endpoint<I> => ({
  ...spec,
  kind: 'cmd',
  arguments: argumentsOf(spec.input, 'none'),
});
