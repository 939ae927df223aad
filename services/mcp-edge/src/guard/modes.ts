import { ALWAYS_ALLOWED, type Mode, MODE_RULES, PLAN_OWN_TICKET } from '@cortex/contracts';

/** What the mode gate asks of a tool. */
export interface ModalTool {
  readonly name: string;
  /** The gateway's built-ins and the agent server's tools stand on every mode's list. */
  readonly builtin: boolean;
  readonly group?: string | undefined;
  /** Of a backend: on no list, whatever its name is. */
  readonly federated?: boolean;
}

const listed = new Map<Mode, ReadonlySet<string> | null>();
const pinned = new Map<Mode, ReadonlySet<string>>();
const own = new Map<Mode, ReadonlySet<string>>();
for (const [mode, rules] of Object.entries(MODE_RULES) as [Mode, (typeof MODE_RULES)[Mode]][]) {
  listed.set(mode, rules.allow === null ? null : new Set([...ALWAYS_ALLOWED, ...rules.allow]));
  pinned.set(mode, new Set(rules.pinned));
  own.set(mode, new Set(rules.allow ?? []));
}

/** Whether no gate behind the mode may refuse or prompt for this tool. */
export const isPinned = (tool: string, mode: Mode): boolean => pinned.get(mode)?.has(tool) === true;

/** Whether the preset of the mode leaves this tool alone: its own list takes precedence over its preset. */
export const isExempt = (tool: string, mode: Mode): boolean =>
  own.get(mode)?.has(tool) === true || isPinned(tool, mode);

export interface Restriction {
  problem: string;
  fix: string;
}

/** Why this mode refuses the tool; undefined when it does not. Absence from the list means refused. */
export function restrictionOf(tool: ModalTool, mode: Mode): Restriction | undefined {
  const names = listed.get(mode);
  if (names === null || names === undefined) return undefined;
  if (tool.federated !== true && (names.has(tool.name) || tool.builtin || tool.group !== undefined)) return undefined;
  const { why, instead } = MODE_RULES[mode];
  return { problem: `${tool.name} is refused in ${mode} mode, because ${why}`, fix: instead };
}

/** In plan mode the verbs that finish a ticket are for the one that the caller's run was dispatched for. */
export function foreignTicket(
  tool: string,
  mode: Mode,
  args: Readonly<Record<string, unknown>>,
  runTicket: string | undefined,
): Restriction | undefined {
  if (mode !== 'plan' || runTicket === undefined || !PLAN_OWN_TICKET.includes(tool)) return undefined;
  if (args['ticket_id'] === runTicket) return undefined;
  return {
    problem: `${tool} is refused in plan mode for another ticket than the run's own`,
    fix: `use ticket_id ${runTicket}, or call exit_plan_mode`,
  };
}
