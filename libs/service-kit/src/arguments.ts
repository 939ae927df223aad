import type { WorkspaceRule } from '@cortex/contracts';
import { ID_PROBLEM, invalidArgument, TOKEN_PATTERN, type CortexError, type ErrorExtras } from '@cortex/contracts';
import type { z } from 'zod';

/** Checks arguments as they came from outside: strict, null standing for absent. */
export interface Arguments {
  /** Throws `invalid_argument` in the form `<field> <problem>; <fix>`. */
  check(args: Record<string, unknown>): Record<string, unknown>;
}

/**
 * Prepared once per tool. An optional argument may be null; one that nobody knows is refused with the nearest known name.
 * `workspace_id` is the request's business, not the handler's: it is dropped where the rule allows it.
 */
export function argumentsOf(input: z.ZodObject, workspace: WorkspaceRule): Arguments {
  const schema = input.strict();
  const known = Object.keys(input.shape);
  const takesWorkspace = workspace !== 'none' && !known.includes('workspace_id');
  // Optional, but not nullable: only these must lose a null before the schema sees it.
  const nullMeansAbsent = known.filter((name) => accepts(input, name, undefined) && !accepts(input, name, null));
  const names = takesWorkspace ? ['workspace_id', ...known] : known;
  return {
    check(args) {
      let given = args;
      if (takesWorkspace && 'workspace_id' in given) {
        const { workspace_id: _, ...rest } = given;
        given = rest;
      }
      if (nullMeansAbsent.some((name) => given[name] === null)) {
        given = Object.fromEntries(
          Object.entries(given).filter(([name, value]) => value !== null || !nullMeansAbsent.includes(name)),
        );
      }
      const checked = schema.safeParse(given);
      if (checked.success) return checked.data;
      throw refusal(checked.error.issues, given, names);
    },
  };
}

const accepts = (input: z.ZodObject, name: string, value: unknown): boolean => {
  try {
    return (input.shape[name] as z.ZodType).safeParse(value).success;
  } catch {
    return false; // an asynchronous or throwing refinement: not a plain optional
  }
};

type Issue = z.core.$ZodIssue;

/** The first issue as our error; the rest named behind it, so that one more try can mend them all. */
function refusal(issues: readonly Issue[], args: unknown, known: readonly string[]): CortexError {
  // A slip in a name explains what is missing, not the other way round.
  const unknownFirst = issues.toSorted((a, b) => Number(isUnknown(b)) - Number(isUnknown(a)));
  const errors = unknownFirst.flatMap((issue) => explain(issue, args, known));
  const [first, ...others] = errors as [CortexError, ...CortexError[]];
  if (others.length === 0) return first;
  const also = others.slice(0, 5).map(({ field = 'arguments', problem, fix }) => {
    // Which values there are cannot be guessed; the other fixes can.
    return fix.startsWith('use one of') ? `${field} ${problem}, ${fix}` : `${field} ${problem}`;
  });
  return invalidArgument(first.field, first.problem, `${first.fix} (also: ${also.join('; ')})`, {
    ...(first.reason && { reason: first.reason }),
    ...(first.details && { details: first.details }),
  });
}

const ID_PATTERN = String(TOKEN_PATTERN);

const isUnknown = ({ code }: Issue): boolean => code === 'unrecognized_keys';

function explain(issue: Issue, args: unknown, known: readonly string[]): CortexError[] {
  const field = pathOf(issue.path) ?? 'arguments';
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => unknownArgument(pathOf([...issue.path, key])!, key, issue.path, known));
    case 'invalid_type':
      if (valueAt(args, issue.path) === undefined) {
        return [invalidArgument(field, 'is missing', `give ${article(issue.expected)}`)];
      }
      return [
        invalidArgument(field, `must be ${article(issue.expected)}`, `it is ${typeName(valueAt(args, issue.path))}`),
      ];
    case 'too_big':
      return [tooBig(field, issue, valueAt(args, issue.path))];
    case 'too_small':
      return [tooSmall(field, issue)];
    case 'invalid_value':
      if (valueAt(args, issue.path) === undefined) {
        return [invalidArgument(field, 'is missing', `give ${choices(issue.values)}`)];
      }
      return [invalidArgument(field, 'is none of the known values', `use ${choices(issue.values)}`)];
    case 'invalid_format':
      // A pattern's own message does not travel with the JSON Schema, so an id is known by its pattern.
      return [issue.pattern === ID_PATTERN ? stated(field, ID_PROBLEM) : stated(field, issue.message)];
    case 'custom':
      return [stated(field, issue.message, issue.params)];
    case 'not_multiple_of':
      return [stated(field, issue.message)];
    case 'invalid_union':
      return [invalidArgument(field, 'has none of the accepted forms', 'see its description')];
    case 'invalid_key':
    case 'invalid_element':
      return issue.issues.length > 0
        ? issue.issues.flatMap((inner) => explain({ ...inner, path: [...issue.path, ...inner.path] }, args, known))
        : [stated(field, issue.message)];
    default:
      return [stated(field, (issue as Issue).message)];
  }
}

/** A schema's own message, such as `must be a UUID; take one from agent_list`; `extras` are its issue's `params`. */
function stated(field: string, message: string, extras: ErrorExtras = {}): CortexError {
  const [problem, ...fix] = message.split('; ');
  return invalidArgument(field, lowerFirst(problem!), fix.length > 0 ? fix.join('; ') : 'see its description', extras);
}

function unknownArgument(field: string, key: string, path: readonly PropertyKey[], known: readonly string[]) {
  const near = path.length === 0 ? nearest(key, known) : undefined;
  const fix =
    near !== undefined
      ? `did you mean ${near}?`
      : path.length > 0
        ? 'leave it out'
        : known.length === 0
          ? 'leave it out, this takes no arguments'
          : `known are ${known.join(', ')}`;
  return invalidArgument(clip(field), 'is no known argument', fix, { reason: 'unknown_argument' });
}

function tooBig(field: string, issue: Extract<Issue, { code: 'too_big' }>, value: unknown): CortexError {
  const limit = Number(issue.maximum);
  const unit = UNITS[issue.origin];
  if (unit === undefined) {
    return invalidArgument(field, `must be ${issue.inclusive ? 'at most' : 'below'} ${limit}`, 'use a smaller one');
  }
  const actual = (value as { length?: number } | undefined)?.length;
  return invalidArgument(field, `has more than ${limit} ${unit}`, unit === 'items' ? 'send fewer' : 'shorten it', {
    reason: 'too_large',
    details: { limit, ...(actual !== undefined && { actual }) },
  });
}

function tooSmall(field: string, issue: Extract<Issue, { code: 'too_small' }>): CortexError {
  const limit = Number(issue.minimum);
  const unit = UNITS[issue.origin];
  if (unit === undefined) {
    return invalidArgument(field, `must be ${issue.inclusive ? 'at least' : 'above'} ${limit}`, 'use a larger one');
  }
  if (limit === 1) return invalidArgument(field, 'is empty', unit === 'items' ? 'send at least one' : 'give some text');
  return invalidArgument(field, `has fewer than ${limit} ${unit}`, unit === 'items' ? 'send more' : 'lengthen it');
}

/** What has a length; all else that can be too big or too small is a number. */
const UNITS: Record<string, 'characters' | 'items' | undefined> = {
  string: 'characters',
  array: 'items',
  set: 'items',
  map: 'items',
};

const pathOf = (path: readonly PropertyKey[]): string | undefined =>
  path.length === 0 ? undefined : clip(path.map(String).join('.'));

/** Names come from outside and end up in texts and logs. */
const clip = (name: string): string => (name.length > 80 ? `${name.slice(0, 80)}…` : name);

const valueAt = (root: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown> | null | undefined)?.[key], root);

const EXPECTED: Record<string, string> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};
const article = (expected: string): string => EXPECTED[expected] ?? `a ${expected}`;
const typeName = (value: unknown): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return EXPECTED[typeof value] ?? typeof value;
};
const choices = (values: readonly unknown[]): string =>
  values.length === 1 ? JSON.stringify(values[0]) : `one of ${values.map((value) => JSON.stringify(value)).join(', ')}`;
const lowerFirst = (text: string): string => (/^[A-Z][a-z]/.test(text) ? text[0]!.toLowerCase() + text.slice(1) : text);

/** The known name with the fewest edits, where that is few enough to be a slip of the hand. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let least = Math.max(1, Math.floor(Math.min(name.length, 64) / 3)) + 1;
  const plain = (text: string) => text.slice(0, 64).toLowerCase().replace(/[-_]/g, '');
  for (const candidate of known) {
    const edits = distance(plain(name), plain(candidate));
    if (edits < least) [best, least] = [candidate, edits];
  }
  return best;
}

/** Levenshtein, two rows. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length]!;
}
