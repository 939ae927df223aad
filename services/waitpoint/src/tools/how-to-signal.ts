import { join } from 'node:path';
import { z } from 'zod';

export const HowToSignal = z.object({
  recommended: z.enum(['cli', 'shell']).describe('cli on this host; shell on a device, which has no way to the port'),
  env: z.string().describe('Sets id and secret for everything that follows in the same shell'),
  cli: z.string().describe('Run right behind the job: tells its exit code'),
  curl: z.string().describe('The same without cortex-signal'),
  shell: z.string().describe('The same by a file in the spool, with nothing but a shell'),
  attach_to_pid: z.string().describe('For a job that runs already: put its process id in place of PID'),
});

export interface SignalLine {
  id: string;
  secret: string;
  members: readonly string[];
  device: string | null;
  /** Of the signal route. */
  port: number;
  /** `CORTEX_HOME`. */
  home: string;
}

/** Where the name of the member goes. */
const MEMBER = 'MEMBER';

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * Lines to paste into a POSIX shell. Id and secret are hex, so they need no quotes; of what somebody chose only the home is
 * in them, quoted. The secret stands in no argument of a program: those can be read by every user of the machine.
 */
export function howToSignal(line: SignalLine): z.output<typeof HowToSignal> {
  const { id, secret, members, device, port, home } = line;
  const url = `http://127.0.0.1:${port}/webhook/signal`;
  const member = members.length > 0;
  const program = `${quoted(join(home, 'bin', 'cortex-signal'))} --url ${url}`;
  const env = `export CORTEX_SIGNAL_ID=${id} CORTEX_SIGNAL_SECRET=${secret}`;
  const cli = (rest: string) =>
    `CORTEX_SIGNAL_ID=${id} CORTEX_SIGNAL_SECRET=${secret} ${program}${member ? ` --member ${MEMBER}` : ''} ${rest}`;
  // printf is a part of the shell, so what it is given is in no list of processes.
  const json = (status: string, message: string) =>
    `printf '{"id":"${id}","secret":"${secret}"${member ? `,"member":"${MEMBER}"` : ''},` +
    `"status":"%s","message":"%s"}' ${status} ${message}`;
  const spool = device === null ? quoted(join(home, 'tmp', 'signals')) : '"$HOME/.cortex/tmp/signals"';
  const drop = (write: string) =>
    `(umask 077; d=${spool}; mkdir -p "$d"; ` +
    `f="$d/$(date +%s)-$$-$(od -An -N4 -tx4 /dev/urandom | tr -d ' ')"; ${write} > "$f.tmp" && mv "$f.tmp" "$f.json")`;
  const told = 's=$?; if [ $s -eq 0 ]; then o=ok; else o=fail; fi';
  const ended = device === null ? cli("--message 'process PID ended'") : drop(json('ok', "'process PID ended'"));
  return {
    recommended: device === null ? 'cli' : 'shell',
    env,
    cli: cli('--exit-code $?'),
    curl: `${told}; ${json('$o', 'exit=$s')} | curl -sS -H 'content-type: application/json' --data-binary @- ${url}`,
    shell: `${told}; ${drop(json('$o', 'exit=$s'))}`,
    attach_to_pid: `(while kill -0 PID 2>/dev/null; do sleep 5; done; ${ended}) > /dev/null 2>&1 &`,
  };
}

/** What to do with the lines. */
export const nextSteps = ({ members, device }: Pick<SignalLine, 'members' | 'device'>): string =>
  [
    `Put the ${device === null ? 'cli' : 'shell'} line where the job will run it, right behind the job`,
    ...(members.length > 0 ? [`, with ${MEMBER} replaced by the member's name (${members.join(', ')})`] : []),
    '; then end your turn: you are woken when it is signalled. The secret is shown this once.',
  ].join('');
