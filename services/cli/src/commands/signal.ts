import { print, tell } from '../output.js';
import { signal } from '../signal/signal.js';

/** `cortex signal …`: the same as `cortex-signal …`. */
export async function signalCommand(words: readonly string[]): Promise<void> {
  const { code, out, err } = await signal(words, process.env);
  if (out !== undefined) print(out);
  if (err !== undefined) tell(err);
  process.exitCode = code;
}
