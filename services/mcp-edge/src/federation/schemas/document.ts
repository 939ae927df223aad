import { isObject } from '@cortex/contracts/is-object';
import { childrenOf, type Dialect, isOld, isSchema, pointerOf, type Schema, type SchemaObject } from './keywords.js';

/** Where a schema of the document stands. */
export interface Place {
  /** JSON Pointer from the root of the document, `` for the root. */
  readonly pointer: string;
  /** The schema with an `$id` of its own that it belongs to; the root where there is none. */
  readonly resource: Resource;
  /** 1 for the root. */
  readonly depth: number;
}

/** A schema with an identity: the root, and every subschema that has an `$id`. */
export interface Resource {
  readonly uri: string;
  readonly root: SchemaObject;
  readonly anchors: Map<string, Schema>;
  /** Those of `$dynamicAnchor`: the outermost resource on the way decides what such a name means. */
  readonly dynamic: Set<string>;
}

export interface Fault {
  /** JSON Pointer to the schema that is at fault. */
  readonly pointer: string;
  readonly reason: FaultReason;
  /** For a person, in one line. */
  readonly detail: string;
}
export type FaultReason =
  | 'dangling_reference'
  | 'dialect_not_supported'
  | 'duplicate_identifier'
  | 'invalid_params'
  | 'invalid_pattern'
  | 'invalid_schema'
  | 'network_reference'
  | 'param_header'
  | 'reference_ring'
  | 'root_type'
  | 'too_deep'
  | 'too_large'
  | 'too_many_subschemas';

export class SchemaFault extends Error implements Fault {
  constructor(
    readonly reason: FaultReason,
    readonly pointer: string,
    readonly detail: string,
  ) {
    super(`${reason} at ${pointer === '' ? 'the root' : pointer}: ${detail}`);
  }
}

export interface DocumentLimits {
  readonly depth: number;
  readonly subschemas: number;
}

/** Of a declaration. Source: gateway, section 12.11. */
export const CHECK_LIMITS: DocumentLimits = { depth: 32, subschemas: 2000 };

/** Base of a document that gives itself none, so that relative references have something to stand on. Never fetched, like any other. */
const NO_BASE = 'schema://document/';
const SHOWN = 200;

/**
 * A schema with all its subschemas, identifiers and anchors. References are resolved in it alone: there is no way out of the document, to
 * the network least of all. Throws a SchemaFault when it is larger than its limits or two of its schemas share an identifier.
 */
export class SchemaDocument {
  readonly #places = new Map<SchemaObject, Place>();
  readonly #resources = new Map<string, Resource>();
  readonly #unexpected = new Set<SchemaObject>();
  #count = 0;

  constructor(
    readonly root: SchemaObject,
    readonly dialect: Dialect,
    private readonly limits: DocumentLimits,
  ) {
    const main = resource(NO_BASE, root);
    this.#resources.set(NO_BASE, main);
    this.#enter(root, [], main, 1);
  }

  /** Every object schema with its place, those that only a reference reaches included once it was resolved. */
  places(): IterableIterator<[SchemaObject, Place]> {
    return this.#places.entries();
  }

  placeOf(schema: SchemaObject): Place {
    const place = this.#places.get(schema);
    if (place === undefined) throw new Error('a schema of another document');
    return place;
  }

  /** False for a schema that stands where no keyword wants one, and is one only because a reference leads there. */
  isExpected(schema: SchemaObject): boolean {
    return !this.#unexpected.has(schema);
  }

  /** The schema that a reference of `from` leads to. Throws a SchemaFault where that is none of this document. */
  resolve(from: SchemaObject, reference: string): Schema {
    const { pointer, resource: base } = this.placeOf(from);
    const hash = reference.indexOf('#');
    const address = hash < 0 ? reference : reference.slice(0, hash);
    const fragment = hash < 0 ? '' : decoded(reference.slice(hash + 1));
    const shown = JSON.stringify(reference.slice(0, SHOWN));
    const uri = address === '' ? base.uri : resolvedUri(address, base.uri);
    const target = uri === undefined ? undefined : this.#resources.get(uri);
    if (target === undefined) {
      if (uri !== undefined && /^(https?|wss?|ftps?|file):/.test(uri))
        throw new SchemaFault('network_reference', pointer, `${shown} leads to an address, and none is ever fetched`);
      throw new SchemaFault('dangling_reference', pointer, `${shown} leads to nothing in this schema`);
    }
    const found =
      fragment === '' || fragment.startsWith('/') ? this.#at(target, fragment) : target.anchors.get(fragment);
    if (found === undefined)
      throw new SchemaFault('dangling_reference', pointer, `${shown} leads to nothing in this schema`);
    return found;
  }

  /** The outermost of these resources (first entered first) that has the dynamic anchor, as `$dynamicRef` wants it. */
  resolveDynamic(from: SchemaObject, reference: string, entered: readonly Resource[]): Schema {
    const found = this.resolve(from, reference);
    const name = isObject(found) ? found['$dynamicAnchor'] : undefined;
    if (typeof name !== 'string' || !reference.endsWith(`#${name}`)) return found;
    return entered.find(({ dynamic }) => dynamic.has(name))?.anchors.get(name) ?? found;
  }

  /** The outermost resource that says `$recursiveAnchor`, where the nearest one says it too (2019-09). */
  resolveRecursive(from: SchemaObject, reference: string, entered: readonly Resource[]): Schema {
    const found = this.resolve(from, reference);
    if (!isObject(found) || found['$recursiveAnchor'] !== true) return found;
    return entered.find(({ root }) => root['$recursiveAnchor'] === true)?.root ?? found;
  }

  #at({ root }: Resource, pointer: string): Schema | undefined {
    let node: unknown = root;
    let last: { schema: SchemaObject; from: number } = { schema: root, from: 0 };
    const tokens = pointer.split('/').slice(1).map(unescaped);
    for (const [i, token] of tokens.entries()) {
      if (Array.isArray(node)) node = /^(0|[1-9]\d*)$/.test(token) ? node[Number(token)] : undefined;
      else node = isObject(node) && Object.hasOwn(node, token) ? node[token] : undefined;
      if (isObject(node) && this.#places.has(node)) last = { schema: node, from: i + 1 };
    }
    if (!isSchema(node)) return undefined;
    // At a place that is no place of schemas, such as an unknown keyword: now it is one.
    if (isObject(node) && !this.#places.has(node)) {
      this.#unexpected.add(node);
      const { pointer: above, resource: owner, depth } = this.placeOf(last.schema);
      this.#enter(node, [], owner, depth + 1, above + pointerOf(tokens.slice(last.from)));
    }
    return node;
  }

  #enter(schema: SchemaObject, path: readonly string[], within: Resource, depth: number, above = ''): void {
    const pointer = above + pointerOf(path);
    if (depth > this.limits.depth)
      throw new SchemaFault('too_deep', pointer, `more than ${this.limits.depth} schemas are inside one another`);
    if (++this.#count > this.limits.subschemas)
      throw new SchemaFault('too_many_subschemas', pointer, `there are more than ${this.limits.subschemas} schemas`);
    if (this.#places.has(schema)) return;
    const owner = this.#identify(schema, within, pointer);
    this.#places.set(schema, { pointer, resource: owner, depth });
    for (const { path: step, schema: child } of childrenOf(schema))
      if (isObject(child)) this.#enter(child, step, owner, depth + 1, pointer);
      else if (++this.#count > this.limits.subschemas)
        throw new SchemaFault('too_many_subschemas', pointer, `there are more than ${this.limits.subschemas} schemas`);
  }

  #identify(schema: SchemaObject, within: Resource, pointer: string): Resource {
    const old = isOld(this.dialect);
    let owner = within;
    const { $id: id } = schema;
    if (typeof id === 'string' && !(old && '$ref' in schema)) {
      const hash = id.indexOf('#');
      const address = hash < 0 ? id : id.slice(0, hash);
      if (address !== '') {
        const uri = resolvedUri(address, within.uri);
        if (uri === undefined) throw new SchemaFault('invalid_schema', pointer, '$id is no URI');
        if (this.#resources.has(uri)) throw twice(pointer, `$id ${JSON.stringify(id.slice(0, SHOWN))}`);
        owner = schema === this.root ? { ...within, uri } : resource(uri, schema);
        this.#resources.set(uri, owner);
      }
      if (old && hash >= 0 && id.length > hash + 1) addAnchor(owner, id.slice(hash + 1), schema, pointer);
    }
    for (const keyword of ['$anchor', '$dynamicAnchor']) {
      const name = schema[keyword];
      if (typeof name !== 'string') continue;
      addAnchor(owner, name, schema, pointer);
      if (keyword === '$dynamicAnchor') owner.dynamic.add(name);
    }
    return owner;
  }
}

const resource = (uri: string, root: SchemaObject): Resource => ({
  uri,
  root,
  anchors: new Map(),
  dynamic: new Set(),
});

function addAnchor({ anchors }: Resource, name: string, schema: Schema, pointer: string): void {
  const known = anchors.get(name);
  if (known !== undefined && known !== schema)
    throw twice(pointer, `the anchor ${JSON.stringify(name.slice(0, SHOWN))}`);
  anchors.set(name, schema);
}

const twice = (pointer: string, what: string): SchemaFault =>
  new SchemaFault('duplicate_identifier', pointer, `${what} is given twice`);

function resolvedUri(reference: string, base: string): string | undefined {
  const url = URL.parse(reference, base);
  if (url === null) return undefined;
  url.hash = '';
  return url.href;
}

const unescaped = (token: string): string => token.replaceAll('~1', '/').replaceAll('~0', '~');

function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}
