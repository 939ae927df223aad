import { randomUUID } from 'node:crypto';
import { connectBus, headers, type Bus } from '@cortex/bus';
import { COMMIT_HEADER, type CommitEnvelope, subjects } from '@cortex/contracts';
import { rebuildProjection } from '@cortex/eventstore';
import { asProvisioner, startGround } from './ground.js';
import { NOTE, notes, notesService, type NoteEvent } from './notes.js';
import type { Scenario } from './scenario.js';

const COMMITS = 1_000_000;
const QUICK_COMMITS = 20_000;
/** Published without a wait for each; the acknowledgement of the last one says that the broker has them all. */
const AT_ONCE = 500;
const NOTES = 50_000;
const WANTED_PER_S = 15_000;

/** How fast a view is made anew from a long log. */
export const rebuildRate: Scenario = {
  name: 'rebuild',
  what: `a projection rebuilt from ${COMMITS.toLocaleString('en')} commits`,
  async run({ quick, signal, tell }) {
    const commits = quick ? QUICK_COMMITS : COMMITS;
    await using ground = await startGround([notesService]);
    const bus = await connectBus({ ...asProvisioner(ground), service: 'provision' });
    try {
      const publishing = performance.now();
      await fill(bus, commits, noteCommit, signal);
      tell(`  ${commits} commits published at ${perSecond(commits, publishing)}/s`);
      const began = performance.now();
      const { applied } = await rebuildProjection({
        bus,
        adminUrl: ground.adminUrl,
        service: notesService,
        projection: notes,
        signal,
      });
      if (applied !== commits) throw new Error(`${commits} commits were published, ${applied} were applied`);
      const goal = { bound: 'at least', limit: WANTED_PER_S } as const;
      return [{ what: 'commits/s of a rebuild', value: perSecond(commits, began), goal }];
    } finally {
      await bus.close();
    }
  },
};

/** A commit as it stands on the log. */
export interface Commit {
  subject: string;
  body: string;
  id: string;
}

const perSecond = (count: number, since: number): number => Math.round((count / (performance.now() - since)) * 1000);

/** Publishes commits 0 to `commits` - 1, as fast as the broker takes them. */
export async function fill(
  bus: Bus,
  commits: number,
  commitOf: (n: number) => Commit,
  signal: AbortSignal,
): Promise<void> {
  for (let n = 0; n < commits; n++) {
    const { subject, body, id } = commitOf(n);
    if (n % AT_ONCE < AT_ONCE - 1 && n < commits - 1) {
      const named = headers();
      named.set(COMMIT_HEADER, id);
      bus.publish(subject, body, { headers: named });
    } else {
      signal.throwIfAborted();
      await bus.publishAcked(subject, body, { msgId: id, headers: { [COMMIT_HEADER]: id } });
    }
  }
}

function noteCommit(n: number): Commit {
  const id = randomUUID();
  const event: NoteEvent = {
    type: 'NoteAdded',
    data: { text: `The quick brown fox jumps over the lazy dog ${n} times.` },
  };
  const commit: CommitEnvelope = {
    commit_id: id,
    at: new Date(1_700_000_000_000 + n * 1000).toISOString(),
    actor: { kind: 'user', id: 'per_bench' },
    workspace: 'bench',
    correlation_id: id,
    causation_id: id,
    events: [{ ...event, version: 1 }],
  };
  return { subject: subjects.event(NOTE, 'bench', `note-${n % NOTES}`), body: JSON.stringify(commit), id };
}
