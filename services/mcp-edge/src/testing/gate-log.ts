import { randomUUID } from 'node:crypto';
import {
  type ApprovalMode,
  COMMIT_HEADER,
  type CommitEnvelope,
  type GuardRule,
  type Mode,
  type ServiceName,
  subjects,
} from '@cortex/contracts';
import type { RunEvent } from '@cortex/contracts/run';
import type { SessionEvent } from '@cortex/contracts/session';
import type { GuardRulesEvent, SpaceEvent, WorkspaceEvent } from '@cortex/contracts/workspace';
import { eventually } from '@cortex/testing';
import type { EdgeFixture } from './edge-fixture.js';

/** What the views of the gates are made of, by aggregate. */
interface GateEvents {
  'team.workspace': WorkspaceEvent;
  'team.guardrules': GuardRulesEvent;
  'team.space': SpaceEvent;
  'session.run': RunEvent;
  'session.session': SessionEvent;
}
const VIEWS: { readonly [Aggregate in keyof GateEvents]: string } = {
  'team.workspace': 'gate_workspaces_v1',
  'team.guardrules': 'gate_rules_v1',
  'team.space': 'gate_spaces_v1',
  'session.run': 'gate_runs_v1',
  'session.session': 'gate_sessions_v1',
};

/** Puts a commit into the log as its owner does; resolves with its sequence when it is stored. */
export async function record<Aggregate extends keyof GateEvents>(
  edge: EdgeFixture,
  aggregate: Aggregate,
  where: { workspace: string | null; id?: string; at?: string },
  ...events: GateEvents[Aggregate][]
): Promise<number> {
  const { workspace, id = 'all', at = new Date().toISOString() } = where;
  const commit_id = randomUUID();
  const body: CommitEnvelope = {
    commit_id,
    at,
    actor: { kind: 'system', id: 'spec' },
    workspace: workspace ?? '_',
    correlation_id: commit_id,
    causation_id: commit_id,
    events: events.map(({ type, data }) => ({ type, version: 1, data })),
  };
  const bus = await edge.nats.busAs(aggregate.slice(0, aggregate.indexOf('.')) as ServiceName);
  try {
    const headers = { [COMMIT_HEADER]: commit_id };
    const { seq } = await bus.publishAcked(subjects.event(aggregate, workspace, id), JSON.stringify(body), { headers });
    return seq;
  } finally {
    await bus.close();
  }
}

/** The same, and waits until the edge decides on it. */
export async function told<Aggregate extends keyof GateEvents>(
  edge: EdgeFixture,
  aggregate: Aggregate,
  where: { workspace: string | null; id?: string; at?: string },
  ...events: GateEvents[Aggregate][]
): Promise<void> {
  const seq = await record(edge, aggregate, where, ...events);
  await eventually(() => (edge.edge.views.seqOf(VIEWS[aggregate]) ?? 0) >= seq);
}

/** A person of the fixture's issuer, registered as an operator would. */
export const personOf = async (edge: EdgeFixture, sub = 'alice'): Promise<string> =>
  (await edge.app.ask<{ person_id: string }>('cmd', 'register_person', { issuer: edge.issuer.url, sub })).person_id;

export interface WorkspaceOf {
  /** `per_` ids. */
  members?: readonly string[];
  approval_mode?: ApprovalMode;
  rules?: readonly GuardRule[];
  /** Mode by space. */
  spaces?: Readonly<Record<string, Mode>>;
}

/** A workspace as its events make it, in force at the edge. */
export async function workspaceWith(edge: EdgeFixture, workspace: string, of: WorkspaceOf = {}): Promise<void> {
  const { members = [], approval_mode, rules = [], spaces = {} } = of;
  await told(
    edge,
    'team.workspace',
    { workspace },
    { type: 'WorkspaceCreated', data: { name: workspace } },
    ...members.map((principal_id): WorkspaceEvent => ({
      type: 'WorkspaceMemberSet',
      data: { principal_id, role: 'member' },
    })),
  );
  const policy: GuardRulesEvent[] = rules.map((rule) => ({ type: 'GuardRuleSet', data: { rule } }));
  if (approval_mode !== undefined) policy.push({ type: 'ApprovalModeSet', data: { mode: approval_mode } });
  if (policy.length > 0) await told(edge, 'team.guardrules', { workspace }, ...policy);
  for (const [space_id, to] of Object.entries(spaces)) {
    const data = { space_id, from: 'chat' as const, to, cause: 'spec' };
    await told(edge, 'team.space', { workspace, id: space_id }, { type: 'SpaceModeChanged', data });
  }
}
