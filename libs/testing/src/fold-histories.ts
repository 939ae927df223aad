import { readdirSync, readFileSync } from 'node:fs';
import type { CommitEnvelope } from '@cortex/contracts';
import type { Decider, EventMeta, EventShape } from '@cortex/eventstore';
import { newest } from '@cortex/eventstore/commit';

/**
 * Folds every stored history of an aggregate (`history/*.json`, each a list of commits as they were written) by today's code:
 * `expect(foldHistories(waitpoint, new URL('history/', import.meta.url))).toEqual({ '0001-….json': state })`. Such files are
 * added, never edited: they stand for what the log holds.
 */
export function foldHistories<Command, Event extends EventShape, State>(
  decider: Decider<Command, Event, State>,
  folder: URL,
): Record<string, State> {
  const files = readdirSync(folder).filter((file) => file.endsWith('.json'));
  return Object.fromEntries(
    files.map((file) => {
      const commits = JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as CommitEnvelope[];
      return [file, commits.reduce((state, commit) => fold(decider, state, commit), decider.initial)];
    }),
  );
}

function fold<Command, Event extends EventShape, State>(
  decider: Decider<Command, Event, State>,
  before: State,
  { events, ...meta }: CommitEnvelope,
): State {
  return events.reduce((state, recorded) => {
    const event = newest({ ...meta, ...recorded }, decider);
    if (!event) throw new Error(`${recorded.type} version ${recorded.version} is newer than the code`);
    return decider.evolve(state, event as unknown as Event & EventMeta);
  }, before);
}
