import { invalidArgument } from '@cortex/contracts';

// The server has checked the arguments; this keeps a command of another release from doing something half.

type Params = Record<string, unknown>;

export function stringParam(params: Params, name: string): string {
  const value = params[name];
  if (typeof value !== 'string') throw invalidArgument(name, 'is no text', 'give a string');
  return value;
}

export function optionalString(params: Params, name: string): string | undefined {
  return params[name] === undefined || params[name] === null ? undefined : stringParam(params, name);
}

export function countParam(params: Params, name: string): number | undefined {
  const value = params[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) {
    throw invalidArgument(name, 'is no whole number from 0', 'give one');
  }
  return value;
}

export const booleanParam = (params: Params, name: string): boolean => params[name] === true;
