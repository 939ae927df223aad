import { randomUUID } from 'node:crypto';
import type { ServiceName } from '@cortex/contracts';
import type { CommitContext } from '@cortex/eventstore';

/** Whose a commit is that no call and no event asked for: a timer's, or that of a file that changed. */
export function ownCommit(service: ServiceName): CommitContext {
  const commitId = randomUUID();
  return {
    commitId,
    at: new Date().toISOString(),
    actor: { kind: 'system', id: service },
    correlation_id: commitId,
    causation_id: commitId,
  };
}
