import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { type Dialect, type SchemaObject } from './keywords.js';

const OPTIONS: Options = { strict: false, validateFormats: false, logger: false };

const MAKERS: Readonly<Record<Dialect, () => ValidateFunction>> = {
  '2020-12': () => metaSchemaOf(new Ajv2020(OPTIONS), 'https://json-schema.org/draft/2020-12/schema'),
  '2019-09': () => metaSchemaOf(new Ajv2019(OPTIONS), 'https://json-schema.org/draft/2019-09/schema'),
  'draft-07': () => quickDraft07(),
  // That of draft-07 says the same about every keyword of draft-06.
  'draft-06': () => quickDraft07(),
};

const validators = new Map<Dialect, ValidateFunction>();

/** What is wrong with a schema in the eyes of its own dialect: where, and in which words; undefined when nothing is. */
export function metaFault(schema: SchemaObject, dialect: Dialect): { pointer: string; detail: string } | undefined {
  let validate = validators.get(dialect);
  if (validate === undefined) validators.set(dialect, (validate = MAKERS[dialect]()));
  if (validate(schema)) return undefined;
  // Of several the one that stands deepest says most.
  const deepest = (validate.errors ?? []).reduce<ErrorObject | undefined>(
    (best, next) => (best === undefined || next.instancePath.length > best.instancePath.length ? next : best),
    undefined,
  );
  return { pointer: deepest?.instancePath ?? '', detail: deepest?.message ?? `is no schema of ${dialect}` };
}

/** The older meta-schemas compare the values of an `enum` pair by pair, which a hostile list makes last for minutes. */
function quickDraft07(): ValidateFunction {
  const { schema } = metaSchemaOf(new Ajv(OPTIONS), 'http://json-schema.org/draft-07/schema');
  const quick = structuredClone(schema) as { $schema?: string; properties: { enum: object } };
  quick.properties.enum = { type: 'array', items: true };
  delete quick.$schema;
  return new Ajv({ ...OPTIONS, meta: false }).compile(quick);
}

function metaSchemaOf(ajv: Ajv, uri: string): ValidateFunction {
  const found = ajv.getSchema(uri);
  if (found === undefined) throw new Error(`ajv does not bring ${uri}`);
  return found;
}
