import { isObject } from '@cortex/contracts/is-object';
import type { Resource } from './document.js';
import { mapKeyword, type Schema, type SchemaObject, without } from './keywords.js';
import { besideReferences, documentOf, IDENTIFIERS, referencesOf, type Step, Unprojectable } from './step.js';

/** Of the result. Source: gateway, section 13.8. */
export const INLINE_LIMITS = { bytes: 128 * 1024, depth: 16, subschemas: 2000 };

/** Where the expansion stands: the schemas around it, and the resources that it came through (outermost first). */
interface Way {
  readonly around: readonly SchemaObject[];
  readonly entered: readonly Resource[];
  readonly depth: number;
}

/** Puts the target of every reference in its place. One that leads back into its own expansion becomes a line that says so. */
export const inline: Step = (draft) => {
  const document = documentOf(draft);
  const { dialect } = draft;
  let subschemas = 0;
  let bytes = 0;
  const weights = new Map<SchemaObject, number>();

  const expand = (schema: Schema, way: Way): Schema => {
    if (++subschemas > INLINE_LIMITS.subschemas)
      throw new Unprojectable(`it has more than ${INLINE_LIMITS.subschemas} subschemas when inlined`);
    if (way.depth > INLINE_LIMITS.depth)
      throw new Unprojectable(`it is more than ${INLINE_LIMITS.depth} schemas deep when inlined`);
    if (!isObject(schema)) return schema;
    weigh(schema);
    const { resource } = document.placeOf(schema);
    const around = [...way.around, schema];
    const entered = way.entered.includes(resource) ? way.entered : [...way.entered, resource];
    const references = referencesOf(schema, dialect);
    const identity = schema === document.root ? IDENTIFIERS : [...IDENTIFIERS, '$id', '$schema'];
    const beside = without(besideReferences(schema, dialect), ...identity);
    const isAlone = references.length === 1 && Object.keys(beside).length === 0;
    const bodies = references.map(([keyword, reference]) => {
      const depth = way.depth + (isAlone ? 0 : 1);
      const target =
        keyword === '$ref'
          ? document.resolve(schema, reference)
          : keyword === '$dynamicRef'
            ? document.resolveDynamic(schema, reference, entered)
            : document.resolveRecursive(schema, reference, entered);
      if (isObject(target) && around.includes(target)) return marker(target, document.placeOf(target).pointer);
      return expand(target, { around, entered, depth });
    });
    const [only] = bodies;
    if (isAlone && only !== undefined) return only;
    const next: Way = { around, entered, depth: way.depth + 1 };
    const rest = Object.fromEntries(
      Object.entries(beside).map(([keyword, value]) => [
        keyword,
        mapKeyword(keyword, value, (child) => expand(child, next)),
      ]),
    );
    if (bodies.length === 0) return rest;
    return { ...rest, allOf: [...bodies, ...(Array.isArray(rest['allOf']) ? (rest['allOf'] as Schema[]) : [])] };
  };

  // An `enum` of 100 KiB that is referred to a thousand times must not be written to find out that it is too large.
  const weigh = (schema: SchemaObject): void => {
    let weight = weights.get(schema);
    if (weight === undefined) {
      const plain = without(schema, ...IDENTIFIERS);
      const own = Object.entries(plain).map(([keyword, value]) => [keyword, mapKeyword(keyword, value, () => true)]);
      weights.set(schema, (weight = JSON.stringify(Object.fromEntries(own)).length));
    }
    bytes += weight;
    if (bytes > 2 * INLINE_LIMITS.bytes) throw tooLarge();
  };

  const expanded = expand(draft.schema, { around: [], entered: [], depth: 1 });
  const schema = isObject(expanded) ? expanded : { allOf: [expanded] };
  if (Buffer.byteLength(JSON.stringify(schema)) > INLINE_LIMITS.bytes) throw tooLarge();
  return { ...draft, schema };
};

const tooLarge = (): Unprojectable =>
  new Unprojectable(`it is larger than ${INLINE_LIMITS.bytes / 1024} KiB when inlined`);

function marker(target: SchemaObject, pointer: string): SchemaObject {
  const { type } = target;
  const name = pointer.slice(pointer.lastIndexOf('/') + 1) || 'the whole schema';
  return { description: `recursive: ${name}`, ...(type !== undefined && { type }) };
}
