import { parentPort } from 'node:worker_threads';
import { Ajv, type Options, type ValidateFunction } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';

/**
 * Checks values by schemas that backends wrote, in a thread of its own: whoever started it ends it when a check takes too long. Imports
 * nothing of ours, so that it runs from the sources as well.
 */

/** Makes a schema ready, or checks a value (JSON text) by one that is. */
export type WorkerTask =
  | { readonly prepare: number; readonly dialect: string; readonly schema: object }
  | { readonly by: number; readonly value: string };
export type WorkerAnswer = { readonly faults: WorkerFault[] } | { readonly error: string };
export interface WorkerFault {
  /** JSON Pointer into the value. */
  readonly at: string;
  readonly problem: string;
  /** The place in the schema that says so. */
  readonly rule: string;
}

const MAX_FAULTS = 5;
const MAX_SCHEMAS = 1_000;

const prepared = new Map<number, ValidateFunction>();

/** Whoever could compile nothing with the flag of JSON Schema has written it for none. */
const regExp = Object.assign(
  (pattern: string, flags: string): RegExp => {
    try {
      return new RegExp(pattern, flags);
    } catch {
      return new RegExp(pattern);
    }
  },
  { code: 'new RegExp' },
);

function prepare(schema: object, dialect: string): ValidateFunction {
  const options: Options = {
    allErrors: true,
    strict: false,
    meta: false,
    validateSchema: false,
    validateFormats: false,
    logger: false,
    addUsedSchema: false,
    code: { regExp },
  };
  if (dialect === '2020-12') return new Ajv2020(options).compile(schema);
  return (dialect === '2019-09' ? new Ajv2019(options) : new Ajv(options)).compile(schema);
}

function answer(task: WorkerTask): WorkerAnswer {
  if ('prepare' in task) {
    if (prepared.size >= MAX_SCHEMAS) prepared.clear();
    prepared.set(task.prepare, prepare(task.schema, task.dialect));
    return { faults: [] };
  }
  const validate = prepared.get(task.by);
  if (validate === undefined) return { error: 'the schema was not prepared' };
  if (validate(JSON.parse(task.value))) return { faults: [] };
  const faults = (validate.errors ?? [])
    .slice(0, MAX_FAULTS)
    .map(({ instancePath, message = '', schemaPath, params }) => {
      const { additionalProperty, allowedValues, allowedValue } = params as Record<string, unknown>;
      const more = additionalProperty ?? allowedValues ?? allowedValue;
      const shown = more === undefined ? '' : `: ${JSON.stringify(more).slice(0, 200)}`;
      return { at: instancePath.slice(0, 200), problem: `${message}${shown}`, rule: schemaPath.slice(0, 200) };
    });
  return { faults };
}

parentPort?.on('message', (task: WorkerTask) => {
  let said: WorkerAnswer;
  try {
    said = answer(task);
  } catch (error) {
    said = { error: error instanceof Error ? error.message.slice(0, 300) : 'it could not be checked' };
  }
  parentPort?.postMessage(said);
});
