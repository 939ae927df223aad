import { randomBytes, randomUUID } from 'node:crypto';
import { isCortexError, type Actor } from '@cortex/contracts';
import type { CommitContext, EventStore, Executed } from '@cortex/eventstore';
import { isThere } from './waitpoint/state.js';
import { waitpoint, type WaitpointCommand } from './waitpoint/waitpoint.decider.js';

/** Of the store's own tries against others. */
const ROUNDS = 10;

/** 16 random hex digits for the fence of a wake. */
export const newNonce = (): string => randomBytes(8).toString('hex');

export interface Deed {
  workspace: string | null;
  id: string;
  actor: Actor;
  /** Of the call that it is part of; of what comes by itself, now. */
  at?: string;
  /** The call or commit that it follows from; its own id where there is none. */
  cause?: string;
  /** Of the session that waits; read from the waitpoint where it is not given. */
  session?: { session_id: string; project: string | null };
}

/**
 * Commits under an id of its own each time: what comes twice is known by the decider, and a repeat must not be taken for
 * its first try, whose secret and nonce nobody has any more. The envelope names the session that waits.
 */
export async function commit(store: EventStore, deed: Deed, command: WaitpointCommand): Promise<Executed> {
  const { workspace, id, actor, at = new Date().toISOString() } = deed;
  const commitId = randomUUID();
  const session = deed.session ?? (await sessionOf(store, workspace, id));
  const project = session?.project ?? null;
  const cause = deed.cause ?? commitId;
  const context: CommitContext = {
    commitId,
    at: 'at' in command ? command.at : at,
    actor,
    ...(session && { session_id: session.session_id }),
    ...(project !== null && { project }),
    correlation_id: cause,
    causation_id: cause,
  };
  for (let again = 1; ; again++) {
    try {
      return await store.execute(waitpoint, workspace, id, command, context);
    } catch (error) {
      // Hundreds of jobs may end at once, each at another instance, and none of them sends its signal again.
      if (!isCortexError(error) || error.reason !== 'revision_conflict' || again >= ROUNDS) throw error;
    }
  }
}

async function sessionOf(store: EventStore, workspace: string | null, id: string): Promise<Deed['session']> {
  const { state } = await store.load(waitpoint, workspace, id);
  return isThere(state) ? state : undefined;
}
