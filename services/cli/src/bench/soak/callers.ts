import { once } from 'node:events';
import type { CrowdFigures, CrowdOrder, CrowdQuestion } from './crowd.js';
import { end, startLoad } from '../processes.js';

/** The crowd as a process of its own. */
export interface Callers extends AsyncDisposable {
  pid: number;
  /** What was since the last question. */
  figures(): Promise<CrowdFigures>;
  /** Has everybody go in order, and tells what was since the last question. */
  leave(): Promise<CrowdFigures>;
}

export function startCallers(order: CrowdOrder, signal: AbortSignal): Callers {
  const child = startLoad('soak/crowd-main.js');
  child.send(order);
  const exited = once(child, 'exit');
  exited.catch(() => undefined);
  const ask = async (question: CrowdQuestion): Promise<CrowdFigures> => {
    const gone = exited.then(([code]) => {
      throw new Error(`the process of the callers ended with code ${String(code)}`);
    });
    const answer = once(child, 'message', { signal });
    child.send(question);
    const [figures] = (await Promise.race([answer, gone])) as [CrowdFigures];
    return figures;
  };
  return {
    pid: child.pid ?? 0,
    figures: () => ask('figures'),
    leave: () => ask('leave'),
    [Symbol.asyncDispose]: () => end(child),
  };
}
