import { userInfo } from 'node:os';
import { showControls } from '@cortex/contracts/text';
import type {
  HistoryEntry,
  QuarantineEntry,
  Waiting,
  Withheld,
} from '@cortex/mcp-edge/federation/integrity/desk-answers';
import type { FieldDifference } from '@cortex/mcp-edge/federation/integrity/difference';
import { CliError, EXIT } from '../exit.js';
import { operator, type OperatorFlags } from '../operator.js';
import { print, printJson, table, tell } from '../output.js';

interface Overview {
  mode: string;
  trackedTools: number;
  quarantined: QuarantineEntry[];
  withheld: Withheld[];
  waiting: Waiting[];
  /** Items that are held back and cannot be decided about; a note says of which backend. */
  unrecorded: number;
  signing: string;
  degraded: string[] | null;
  notes: string[];
}
interface Decided {
  quarantined: string[];
  /** Backends of which everything is held back. */
  withheld?: string[];
}

const ROOT = 'tool-integrity';
const SHORT = 12;
const MAX_NAMED = 20;
/** Who decides, for the log; the secret proves that it is an operator. */
const by = (): string => `cli:${userInfo().username}`.slice(0, 128);

/** `cortex tools pending`: what is held back, and why. */
export async function pending(flags: OperatorFlags): Promise<void> {
  const overview = await operator<Overview>(flags, 'GET', ROOT);
  if (flags.json) return printJson(overview);
  for (const note of overview.notes) tell(note);
  for (const { backend, items } of overview.withheld)
    tell(`everything of ${backend} is held back until that is mended (items: ${items.length})`);
  for (const { backend, why, items } of overview.waiting)
    tell(`what is new or changed of ${backend} cannot be recorded now (${why}); ${waits(items)}`);
  const others = overview.withheld.length + overview.waiting.length + overview.unrecorded;
  if (overview.quarantined.length === 0 && others > 0) return;
  if (overview.quarantined.length === 0)
    return tell(`nothing is held back; ${overview.trackedTools} tools are approved`);
  const rows = overview.quarantined.map(({ tool, exposed, digest, reasons, changed, firstSeenAt }) => [
    showControls(exposed ?? tool),
    digest.slice(0, SHORT),
    reasons.join(', '),
    changed.join(', '),
    firstSeenAt,
  ]);
  print(table([['tool', 'digest', 'why', 'changed', 'since'], ...rows]));
}

const waits = (items: Waiting['items']): string => {
  if (items.length === 0) return 'nothing of it waits';
  const named = items.slice(0, MAX_NAMED).map(({ tool }) => showControls(tool));
  const more = items.length - named.length;
  return `waiting: ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
};

/** `cortex tools diff TOOL`: what waits against what is approved. */
export async function diff(tool: string, flags: OperatorFlags): Promise<void> {
  const entry = await heldOf(tool, flags);
  if (flags.json) return printJson(entry);
  showEntry(entry);
}

/** `cortex tools approve TOOL`: what is shown, and nothing that came after. */
export async function approve(tool: string, flags: OperatorFlags & { digest?: string }): Promise<void> {
  const entry = await heldOf(tool, flags);
  const digest = flags.digest === undefined ? entry.digest : wholeDigest(flags.digest, [entry.digest]);
  if (!flags.json) showEntry(entry);
  const decided = await operator<Decided>(flags, 'POST', ROOT, { tool: entry.tool, digest, by: by() });
  if (flags.json) return printJson(decided);
  tell(`${showControls(entry.tool)} is approved as shown; ${left(decided)}`);
}

/** `cortex tools history TOOL`: every definition that it had, newest first. */
export async function history(tool: string, flags: OperatorFlags): Promise<void> {
  const found = await historyOf(tool, flags);
  if (flags.json) return printJson(found);
  for (const one of found.definitions) {
    print(`${one.digest.slice(0, SHORT)}  ${one.firstSeenAt}  ${approvals(one)}`);
    showFields(one.diff);
  }
}

function approvals({ approvedAt, by: who, inForce, startedOverBy, approvedBefore = [] }: HistoryEntry): string {
  if (approvedAt === undefined) return 'not approved';
  const anew = startedOverBy === undefined ? '' : ` when ${startedOverBy} began anew`;
  const before = approvedBefore.map((one) => `; before that ${one.at} by ${one.by}`).join('');
  return `approved ${approvedAt} by ${who}${anew}${inForce ? ', in force' : ''}${before}`;
}

/** `cortex tools rollback TOOL DIGEST`: an earlier approved definition is the approved one again. */
export async function rollback(tool: string, digest: string, flags: OperatorFlags): Promise<void> {
  const found = await historyOf(tool, flags);
  const approved = found.definitions.filter(({ approvedAt }) => approvedAt !== undefined);
  const whole = wholeDigest(
    digest,
    approved.map((one) => one.digest),
  );
  const request = { tool: found.tool, action: 'rollback', digest: whole, by: by() };
  const decided = await operator<Decided>(flags, 'POST', ROOT, request);
  if (flags.json) return printJson(decided);
  tell(`${showControls(found.tool)} is approved as ${whole.slice(0, SHORT)} alone; ${left(decided)}`);
}

/** `cortex tools start-over BACKEND`: for approvals that cannot be believed. */
export async function startOver(backend: string, flags: OperatorFlags & { yes?: boolean }): Promise<void> {
  if (!flags.yes)
    throw new CliError(`this approves whatever ${backend} serves now, unseen; say so with --yes`, EXIT.usage);
  const decided = await operator<Decided>(flags, 'POST', ROOT, { action: 'start_over', backend, by: by() });
  if (flags.json) return printJson(decided);
  tell(`${backend} begins anew with what it serves now; ${left(decided)}`);
}

function left({ quarantined, withheld = [] }: Decided): string {
  const held = [...quarantined.map(showControls), ...withheld.map((backend) => `everything of ${backend}`)];
  return held.length === 0 ? 'nothing is held back' : `held back are: ${held.join(', ')}`;
}

async function heldOf(tool: string, flags: OperatorFlags): Promise<QuarantineEntry> {
  const { quarantined, withheld } = await operator<Overview>(flags, 'GET', ROOT);
  const isIt = (one: { tool: string; exposed: string | null }) => one.exposed === tool || one.tool === tool;
  const entry = quarantined.find(isIt);
  if (entry !== undefined) return entry;
  const whole = withheld.find(({ items }) => items.some(isIt));
  if (whole !== undefined)
    throw new CliError(`${tool} is held back with everything of ${whole.backend}: ${whole.why}`, EXIT.failed);
  const held = [
    ...quarantined.map((one) => one.exposed ?? one.tool),
    ...withheld.map(({ backend }) => `everything of ${backend}`),
  ].join(', ');
  throw new CliError(`${tool} is not held back; ${held === '' ? 'nothing is' : `held back are: ${held}`}`, EXIT.failed);
}

const historyOf = (tool: string, flags: OperatorFlags) =>
  operator<{ tool: string; definitions: HistoryEntry[] }>(
    flags,
    'GET',
    `${ROOT}/history?tool=${encodeURIComponent(tool)}`,
  );

/** A digest of which the beginning is given, as the lists show it. */
function wholeDigest(given: string, known: readonly string[]): string {
  const found = known.filter((digest) => digest.startsWith(given.toLowerCase()));
  const [only] = found;
  if (given.length >= 8 && only !== undefined && found.length === 1) return only;
  const why = found.length > 1 ? 'begins several digests' : 'is the beginning (8 digits or more) of no digest';
  throw new CliError(`${JSON.stringify(given)} ${why}; take one of: ${known.join(', ') || '(none)'}`, EXIT.failed);
}

function showEntry({ tool, digest, approved, reasons, findings, fields }: QuarantineEntry): void {
  print(
    `${showControls(tool)}  ${approved?.slice(0, SHORT) ?? '(new)'} -> ${digest.slice(0, SHORT)}  ${reasons.join(', ')}`,
  );
  for (const { rule, place, snippet } of findings) print(`  ! ${rule} at ${place}: ${snippet}`);
  showFields(fields);
}

function showFields(fields: readonly FieldDifference[]): void {
  for (const { field, lines } of fields) {
    print(`  ${field}`);
    for (const line of lines) print(showControls(line).replace(/^/gm, '    '));
  }
}
