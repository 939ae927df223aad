import { isObject } from '@cortex/contracts/is-object';
import { isOld, mapKeyword, type Schema, without } from './keywords.js';
import { rebuild, type Shape } from './rebuild.js';
import { besideReferences, documentOf, IDENTIFIERS, referencesOf, staticTarget, type Step } from './step.js';

const DRAFT_07 = 'http://json-schema.org/draft-07/schema#';

/** Newer keywords that draft-07 has no words for. Without them a schema allows more, never less. */
const UNKNOWN = [
  '$schema',
  '$vocabulary',
  'contentSchema',
  'dependentRequired',
  'dependentSchemas',
  'maxContains',
  'minContains',
  'prefixItems',
  'unevaluatedItems',
  'unevaluatedProperties',
];
/** What draft-06 does not know and draft-07 would suddenly obey. */
const NEW_IN_07 = ['if', 'then', 'else'];

/** The same schema in the words of draft-07. */
export const draft07: Step = (draft) => {
  const document = documentOf(draft);
  const { dialect } = draft;
  const old = isOld(dialect);

  const shape: Shape = (schema, { make, referTo }) => {
    const beside = besideReferences(schema, dialect);
    const gone = [
      ...UNKNOWN,
      ...IDENTIFIERS,
      ...(schema === document.root ? [] : ['$id']),
      ...(dialect === 'draft-06' ? NEW_IN_07 : []),
      // Counted from none on it asserts nothing; without the count it would ask for one.
      ...(!old && schema['minContains'] === 0 ? ['contains'] : []),
    ];
    const made = Object.fromEntries(
      Object.entries(without(beside, ...gone)).map(([keyword, value]) => [keyword, mapKeyword(keyword, value, make)]),
    );
    // Its own meta-schema wants them to differ.
    if (Array.isArray(made['enum'])) made['enum'] = distinct(made['enum']);
    if (!old) Object.assign(made, tupleOf(schema, make), dependenciesOf(schema, made, make));
    const targets = referencesOf(schema, dialect).flatMap(([keyword, reference]): Schema[] => {
      const target = staticTarget(document, schema, keyword, reference);
      if (target === undefined) return [];
      const $ref = referTo(target);
      return [$ref === undefined ? target : { $ref }];
    });
    const [only] = targets;
    // Beside a `$ref` draft-07 sees nothing, so what stands there moves apart from it.
    const isAlone = targets.length === 1 && Object.keys(made).length === 0;
    if (isAlone && isObject(only)) return { ...only };
    if (targets.length === 0) return made;
    return { ...made, allOf: [...targets, ...(Array.isArray(made['allOf']) ? (made['allOf'] as Schema[]) : [])] };
  };

  return { schema: { $schema: DRAFT_07, ...rebuild(document, 'definitions', shape) }, dialect: 'draft-07' };
};

/** `prefixItems` with what follows. Where there is none `items` means the same in both. */
function tupleOf(schema: Readonly<Record<string, unknown>>, make: (schema: Schema) => Schema): object {
  const { prefixItems, items } = schema;
  if (!Array.isArray(prefixItems)) return {};
  return {
    items: (prefixItems as Schema[]).map(make),
    ...(items !== undefined && { additionalItems: make(items as Schema) }),
  };
}

function dependenciesOf(
  schema: Readonly<Record<string, unknown>>,
  made: Readonly<Record<string, unknown>>,
  make: (schema: Schema) => Schema,
): object {
  const { dependentRequired, dependentSchemas } = schema;
  if (!isObject(dependentRequired) && !isObject(dependentSchemas)) return {};
  const merged = new Map<string, unknown>(isObject(made['dependencies']) ? Object.entries(made['dependencies']) : []);
  const add = (name: string, next: unknown): void => {
    const before = merged.get(name);
    merged.set(name, before === undefined ? next : { allOf: [asSchema(before), asSchema(next)] });
  };
  for (const [name, names] of isObject(dependentRequired) ? Object.entries(dependentRequired) : []) add(name, names);
  for (const [name, inner] of isObject(dependentSchemas) ? Object.entries(dependentSchemas) : [])
    add(name, make(inner as Schema));
  return { dependencies: Object.fromEntries(merged) };
}

const distinct = (values: readonly unknown[]): unknown[] => [
  ...new Map(values.map((value) => [JSON.stringify(value), value])).values(),
];

const asSchema = (dependency: unknown): unknown => (Array.isArray(dependency) ? { required: dependency } : dependency);
