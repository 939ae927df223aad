import { text as readAll } from 'node:stream/consumers';
import { showControls } from '@cortex/contracts/text';
import type { Explanation, StepResult } from '@cortex/mcp-edge/explain/explain';
import { bearerFlag, parseArguments } from '../flags.js';
import { homeOf } from '../home.js';
import { operator, type OperatorFlags } from '../operator.js';
import { print, printJson } from '../output.js';
import { makeToken } from '../token.js';

interface Flags extends OperatorFlags {
  token?: string;
  session?: string;
  agent?: string;
  person?: string;
  scopes?: string;
  space?: string;
  mode?: string;
  args?: string;
}

export async function explain(tool: string, flags: Flags): Promise<void> {
  const { session, agent, person, space, mode } = flags;
  const given = flags.token === '-' ? await readAll(process.stdin) : flags.token;
  const named = [session, agent, person].some((one) => one !== undefined);
  const own = () => makeToken(homeOf(flags.home), process.env, { scopes: flags.scopes });
  const token = bearerFlag(given) ?? (named ? undefined : own());
  const scopes = flags.scopes?.split(/[\s,]+/).filter(Boolean);
  // The owner's token is made with them.
  const caller = named || (given !== undefined && scopes) ? { session, agent, person, scopes } : undefined;
  const args = flags.args === undefined ? undefined : parseArguments(flags.args, '--args');
  const question = { tool, token, caller, space, mode, arguments: args };
  const answer = await operator<Explanation>(flags, 'POST', 'explain', question);
  if (flags.json) printJson(answer);
  else print(showControls(told(answer)));
}

const MARKS: Readonly<Record<StepResult, string>> = { pass: 'ok ', refuse: 'NO ', ask: 'ASK', needs_arguments: '?  ' };

function told({ tool, caller, listed, callable, steps, as_of }: Explanation): string {
  const who =
    caller === null
      ? 'whoever has this token'
      : [caller.kind, caller.session_id ?? caller.sub, caller.client_id].filter(Boolean).join(' ');
  const open = steps.some(({ result }) => result === 'needs_arguments')
    ? ', as far as that can be told without arguments'
    : '';
  const lines = steps.flatMap(({ gate, result, why, source, fix }) => [
    `  ${MARKS[result]} ${gate.padEnd(12)}  ${why}${source.author === undefined ? '' : ` (by ${source.author})`}`,
    ...(fix === undefined ? [] : [`${' '.repeat(20)}to pass: ${fix.text} (${fix.who.join(', ')})`]),
  ]);
  return [
    `${tool} for ${who}`,
    `listed: ${listed ? 'yes' : 'no'}   callable: ${callable === 'asks' ? 'asks a person first' : callable}${callable === 'yes' ? open : ''}`,
    ...lines,
    `as of ${as_of.at}, catalog ${as_of.catalog_version}`,
  ].join('\n');
}
