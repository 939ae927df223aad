import { answer, readRequest, type Bus, type BusMessage } from '@cortex/bus';
import { notFound, toWireError } from '@cortex/contracts';
import type { NatsFixture } from '@cortex/testing';

export interface Asked {
  name: string;
  args: Record<string, unknown>;
  workspace_id: string | null;
}

/** The services that a session meets, on the real bus under their own names: what they say is set, what they are asked is kept. */
export interface Around extends AsyncDisposable {
  /** Workspace → its members. */
  readonly members: Map<string, string[]>;
  /** Person → scopes of the last token; null for one who never showed any. */
  readonly people: Map<string, string[] | null>;
  /** When people were last seen, ISO 8601, where that is not now. */
  readonly seen: Map<string, string>;
  /** Commands that `audit` was sent. */
  readonly runs: Asked[];
  /** While it is false, `audit` answers nothing. */
  auditUp: boolean;
}

export async function around(nats: NatsFixture): Promise<Around> {
  const [team, edge, audit] = await Promise.all([nats.busAs('team'), nats.busAs('mcp-edge'), nats.busAs('audit')]);
  const world: Around = {
    members: new Map([['w1', ['per_1']]]),
    people: new Map([['per_1', null]]),
    seen: new Map(),
    runs: [],
    auditUp: true,
    async [Symbol.asyncDispose]() {
      await Promise.all([team, edge, audit].map((bus) => bus.close()));
    },
  };
  serve(team, 'cortex.query.team.workspace', ({ args }) => {
    const members = world.members.get(String(args['workspace_id']));
    if (members === undefined) throw notFound('workspace_id', 'is no workspace', 'make it');
    return { members: members.map((principal_id) => ({ principal_id, role: 'member' })) };
  });
  serve(edge, 'cortex.query.mcp-edge.person', ({ args }) => {
    const scopes = world.people.get(String(args['person_id']));
    if (scopes === undefined) throw notFound('person_id', 'is nobody', 'name somebody');
    const seen = world.seen.get(String(args['person_id'])) ?? new Date().toISOString();
    return { scopes: scopes ?? [], last_seen_at: scopes === null ? null : seen };
  });
  for (const name of ['start_execution', 'finish_execution'])
    serve(audit, `cortex.cmd.audit.${name}`, (asked) => {
      if (!world.auditUp) throw new Error('audit is down');
      world.runs.push(asked);
      return {};
    });
  return world;
}

function serve(bus: Bus, subject: string, reply: (asked: Asked) => unknown): void {
  bus.subscribe(subject, (message: BusMessage) => {
    void readRequest(bus, message).then((request) => {
      const { args, workspace_id } = request;
      let body: object;
      try {
        body = { ok: true, data: reply({ name: subject.split('.').at(-1)!, args, workspace_id }) };
      } catch (error) {
        body = { ok: false, error: toWireError(error) };
      }
      return answer(bus, message, JSON.stringify(body));
    });
  });
}
