import { shown } from '@cortex/contracts/text-rules';
import type { GapJson } from '@cortex/ticket/gap/gap-rows';
import { CliError, EXIT } from '../exit.js';
import { operator, type OperatorFlags } from '../operator.js';
import { print, printJson, table, tell } from '../output.js';

interface Listed {
  tickets: GapJson[];
  count: number;
  next_cursor: string | null;
}
export interface ListFlags extends OperatorFlags {
  status?: string;
  severity?: string;
  app?: string;
  limit?: string;
  cursor?: string;
}
export interface TriageFlags extends OperatorFlags {
  status?: string;
  note?: string;
  resolution?: string;
  pr?: string;
  duplicateOf?: string;
}

const ROOT = 'tickets';
const WIDE = 60;

/** `cortex gaps list`: what callers miss, newest first. */
export async function list(flags: ListFlags): Promise<void> {
  const { status, severity, app: contextApp, limit, cursor } = flags;
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ status, severity, contextApp, limit, cursor }))
    if (value !== undefined) query.set(name, value);
  const found = await operator<Listed>(flags, 'GET', `${ROOT}?${query.toString()}`);
  if (flags.json) return printJson(found);
  if (found.count === 0) return tell('there are no such tickets');
  const rows = found.tickets.map(({ id, createdAt, status: at, severity: how, contextApp: about, whatIWanted }) => [
    id,
    createdAt,
    at,
    how,
    about ?? '-',
    line(whatIWanted),
  ]);
  print(shown(table([['ticket', 'since', 'status', 'severity', 'app', 'what was wanted'], ...rows])));
  if (found.next_cursor !== null) tell(`there are more: --cursor ${found.next_cursor}`);
}

/** `cortex gaps show TICKET`. */
export async function show(id: string, flags: OperatorFlags): Promise<void> {
  told(await operator<GapJson>(flags, 'GET', pathOf(id)), flags);
}

/** `cortex gaps triage TICKET`: its status and notes; an empty note takes the note away. */
export async function triage(id: string, flags: TriageFlags): Promise<void> {
  const { status, note, resolution, pr, duplicateOf } = flags;
  const orNull = (text: string | undefined) => (text === '' ? null : text);
  const change = {
    status,
    triageNote: orNull(note),
    resolutionNote: orNull(resolution),
    resolvedPrUrl: orNull(pr),
    duplicateOf,
  };
  if (Object.values(change).every((value) => value === undefined))
    throw new CliError(
      'nothing is to be changed; give --status, --note, --resolution, --pr or --duplicate-of',
      EXIT.usage,
    );
  told(await operator<GapJson>(flags, 'PATCH', pathOf(id), change), flags);
}

const pathOf = (id: string): string => `${ROOT}/${encodeURIComponent(id)}`;

function told(ticket: GapJson, { json }: OperatorFlags): void {
  if (json) return printJson(ticket);
  const { id, status, severity, duplicateOf, reporter, createdAt, updatedAt, contextTool, contextApp } = ticket;
  const rows = [
    ['ticket', id],
    ['status', duplicateOf === null ? status : `${status} of ${duplicateOf}`],
    ['severity', severity],
    ['reporter', reporter],
    ['since', updatedAt === createdAt ? createdAt : `${createdAt}, changed ${updatedAt}`],
    ['about', [contextApp, contextTool].filter((name) => name !== null).join(' ') || null],
    ['wanted', ticket.whatIWanted],
    ['for', ticket.userIntent],
    ['shape', ticket.suggestedShape],
    ['triage', ticket.triageNote],
    ['resolution', ticket.resolutionNote],
    ['change', ticket.resolvedPrUrl],
  ].filter((row): row is [string, string] => row[1] !== null);
  // What callers wrote: further lines of it stand under the first, so that none passes for a field of ours.
  const text = ([name, value]: [string, string]) =>
    `${name.padEnd(10)}  ${value.replaceAll('\n', `\n${' '.repeat(12)}`)}`;
  print(shown(rows.map(text).join('\n')));
}

function line(text: string): string {
  const one = text.replace(/\s+/g, ' ').trim();
  return one.length <= WIDE ? one : `${one.slice(0, WIDE - 1).toWellFormed()}…`;
}
