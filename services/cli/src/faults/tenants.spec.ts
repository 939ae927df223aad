import { randomUUID } from 'node:crypto';
import { connectBus, type Bus } from '@cortex/bus';
import { schemaOf, subjects, type CallScope, type Principal, type ServiceName } from '@cortex/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { Client } from 'pg';
import { withAdmin } from '../admin.js';
import { openFor } from '../commands/session.js';
import { personOf } from '../people.js';
import { readSecrets } from '../secrets.js';
import { loadServices } from '../services.js';
import { makeToken } from '../token.js';
import { RunningCortex } from './running.js';

// Two workspaces with the same kinds of things in them, a person and an agent in each. Nobody is operator.

interface Side {
  workspace: string;
  person_id: string;
  person: string;
  /** Token of the agent's session. */
  agent: string;
  session: string;
  project: string;
  /** Stands in every text that somebody wrote in this workspace, and in nothing else. */
  canary: string;
  ticket: string;
  fact: string;
  waitpoint: string;
  execution: string;
  /** US dollars, different on either side. */
  spent: number;
}

interface Attempt {
  as: 'person' | 'agent';
  args: Record<string, unknown>;
  /** What of the answer must hold beside that nothing of the others is in it. */
  sees: 'own' | 'nothing' | ((structured: Record<string, unknown>) => void);
}

/** For each tool that reads: what a member tries, with the ids of the others. */
const CASES: Readonly<Record<string, (mine: Side, theirs: Side) => Attempt[]>> = {
  list_workspaces: (mine) => [
    { as: 'person', args: {}, sees: ({ count }) => expect(count).toBe(1) },
    { as: 'agent', args: {}, sees: ({ workspaces }) => expect(workspaces).toMatchObject([{ id: mine.workspace }]) },
  ],
  list_tickets: ({ workspace: workspace_id }, theirs) => [
    { as: 'person', args: { workspace_id }, sees: 'own' },
    { as: 'agent', args: { workspace_id }, sees: 'own' },
    { as: 'person', args: { workspace_id, assignee: theirs.person_id }, sees: ({ count }) => expect(count).toBe(0) },
  ],
  get_ticket: ({ workspace: workspace_id, ticket }, theirs) => [
    { as: 'person', args: { workspace_id, ticket_id: ticket }, sees: 'own' },
    { as: 'person', args: { workspace_id, ticket_id: theirs.ticket }, sees: 'nothing' },
    { as: 'agent', args: { workspace_id, ticket_id: theirs.ticket }, sees: 'nothing' },
  ],
  search_memory: ({ workspace: workspace_id }, theirs) =>
    ['keyword', 'hybrid'].flatMap((mode): Attempt[] => [
      { as: 'person', args: { workspace_id, mode, query: 'canary' }, sees: 'own' },
      { as: 'agent', args: { workspace_id, mode, query: 'canary' }, sees: 'own' },
      { as: 'person', args: { workspace_id, mode, query: theirs.canary, domain: 'plans' }, sees: 'own' },
    ]),
  query_executions: (mine, theirs) => [
    { as: 'person', args: { status: 'all', limit: 100 }, sees: ({ total }) => expect(total).toBe(1) },
    { as: 'agent', args: { status: 'all', limit: 100 }, sees: ({ total }) => expect(total).toBe(1) },
    { as: 'person', args: { execution_id: mine.execution }, sees: 'own' },
    { as: 'person', args: { execution_id: theirs.execution }, sees: 'nothing' },
    { as: 'agent', args: { execution_id: theirs.execution }, sees: 'nothing' },
    { as: 'person', args: { status: 'all', project: theirs.project }, sees: ({ total }) => expect(total).toBe(0) },
  ],
  cost_query: (mine, theirs) => {
    const spent = (amount: number) => (costs: Record<string, unknown>) =>
      expect(costs).toMatchObject({ month: { total: amount } });
    return [
      { as: 'person', args: {}, sees: spent(mine.spent) },
      { as: 'agent', args: {}, sees: spent(mine.spent) },
      { as: 'person', args: { projectId: theirs.project }, sees: spent(0) },
      { as: 'agent', args: { projectId: theirs.project }, sees: spent(0) },
    ];
  },
  wait_check: (mine, theirs) => [
    { as: 'agent', args: {}, sees: 'own' },
    { as: 'agent', args: { id: mine.waitpoint }, sees: 'own' },
    { as: 'agent', args: { id: theirs.waitpoint }, sees: 'nothing' },
  ],
  cortex_context: (mine) => [
    { as: 'agent', args: {}, sees: (context) => expect(context).toMatchObject({ sessionId: mine.session }) },
  ],
};

/** Writes that name a thing by its id: what is not there for a reader is not there for them either. */
const WRITES: typeof CASES = {
  update_ticket: ({ workspace: workspace_id }, theirs) => [
    { as: 'person', args: { workspace_id, ticket_id: theirs.ticket, title: 'taken over' }, sees: 'nothing' },
  ],
  close_ticket: ({ workspace: workspace_id }, theirs) => [
    { as: 'agent', args: { workspace_id, ticket_id: theirs.ticket }, sees: 'nothing' },
  ],
  wait_cancel: (_mine, theirs) => [{ as: 'agent', args: { id: theirs.waitpoint }, sees: 'nothing' }],
};

/** What they read holds no row of a workspace: the files of a machine, which scopes open, and the edge's own catalog. */
const WITHOUT_ROWS = ['remote_read', 'remote_glob', 'remote_grep', 'current_time', 'list_my_tools', 'search_tool_bm25'];

const definitions = (await loadServices()).map(({ def }) => def);
const ownerOf = new Map(definitions.flatMap(({ name, tools }) => tools.map((tool) => [tool.name, name] as const)));

let cortex: RunningCortex;
let alpha: Side;
let beta: Side;
let edge: Bus;
beforeAll(async () => {
  cortex = await RunningCortex.start();
  alpha = await populated('alpha', 1.25);
  beta = await populated('beta', 2.5);
  await cortex.caughtUp();
  const servers = cortex.state.nats_url;
  edge = await connectBus({
    servers,
    service: 'mcp-edge',
    user: 'mcp-edge',
    pass: readSecrets(cortex.home).bus['mcp-edge'],
  });
});
afterAll(async () => {
  await edge?.close();
  await cortex[Symbol.asyncDispose]();
});

/** Tickets are written without a question: nobody is here to be asked. */
const ALLOWED = {
  id: 'tickets',
  action_class: 'vendorSyncWrite',
  decision: 'allow',
  scope_type: 'workspace',
};

/** A workspace, a member, an agent of it, and one of everything that they can make. */
async function populated(workspace: string, spent: number): Promise<Side> {
  const sub = `member-of-${workspace}`;
  const canary = `canary-${workspace}`;
  const project = `project-${workspace}`;
  const person = makeToken(cortex.home, {}, { sub, scopes: 'mcp:cortex:read mcp:cortex:write' });
  await done(person, 'list_workspaces', {}); // seen now with the scopes that its session may have
  const { person_id, opened } = await withAdmin(cortex.home, async (admin) => {
    const team = (name: string, args: object) =>
      admin.ask(`cortex.cmd.team.${name}`, { workspace_id: workspace, ...args });
    const person_id = await personOf(admin, { sub });
    await team('upsert_workspace', { name: workspace });
    await team('set_member', { principal_id: person_id, role: 'member' });
    await team('set_approval_mode', { mode: 'write' });
    await team('set_guard_rule', { rule: ALLOWED });
    return { person_id, opened: await openFor(admin, { sub, workspace, project, ttl: '1h' }) };
  });
  const agent = opened.token;
  const within = { workspace_id: workspace };
  // The edge hears of a new member and of a rule a moment after they were told.
  await eventually(() => done(person, 'list_tickets', within));
  const ticket = await eventually(() =>
    done(person, 'create_ticket', { ...within, title: canary, description: canary }),
  );
  const fact = await done(agent, 'propose_fact', {
    ...within,
    domain: 'plans',
    topic: canary,
    content: `${canary} is here`,
  });
  const waitpoint = await done(agent, 'wait_create', { label: canary, intent: canary });
  const usage = { backend: 'claude', model: 'sonnet', input_tokens: 1, output_tokens: 1, cost_usd: spent, key: 'once' };
  const posted = await cortex.loopback('/webhook/usage', { sessionId: opened.session_id, ...usage }, agent);
  expect(posted.body).toMatchObject({ success: true, data: { recorded: true, cost_usd: spent } });
  return {
    workspace,
    person_id,
    person,
    agent,
    project,
    canary,
    spent,
    session: opened.session_id,
    execution: opened.execution_id,
    ticket: String(ticket['ticket_id']),
    fact: String(fact['fact_id']),
    waitpoint: String(waitpoint['id']),
  };
}

async function done(token: string, tool: string, args: Record<string, unknown>): Promise<Record<string, unknown>> {
  const answer = await cortex.call(tool, args, { token });
  if (!answer.ok) throw new Error(`${tool}: ${answer.text}`);
  return answer.structured ?? {};
}

interface Given {
  ok: boolean;
  kind?: string;
  text: string;
  structured?: Record<string, unknown>;
}

/** Nothing of theirs is in the answer, whatever was asked; and what was to be seen is. */
function judge(tool: string, { args, sees }: Attempt, answer: Given, mine: Side, theirs: Side): void {
  const said = `${tool} ${JSON.stringify(args)}: ${answer.text} ${JSON.stringify(answer.structured ?? null)}`;
  const named = JSON.stringify(args);
  for (const secret of [theirs.canary, theirs.session, theirs.person_id, theirs.ticket, theirs.fact, theirs.waitpoint])
    if (!named.includes(secret)) expect(said).not.toContain(secret);
  if (sees === 'nothing') {
    expect({ said, ok: answer.ok }).toEqual({ said, ok: false });
    return expect(['not_found', 'permission_denied']).toContain(answer.kind);
  }
  expect({ said, ok: answer.ok }).toEqual({ said, ok: true });
  if (sees === 'own') expect(said).toContain(tool === 'query_executions' ? mine.session : mine.canary);
  else sees(answer.structured ?? {});
}

it('every tool that reads has its case here', () => {
  const reading = definitions.flatMap(({ tools }) => tools.filter(({ tier, builtin }) => tier === 'read' && !builtin));
  const names = reading.map(({ name }) => name).filter((name) => !WITHOUT_ROWS.includes(name));
  expect(names.toSorted()).toEqual(Object.keys(CASES).toSorted());
});

describe.each(Object.entries({ ...CASES, ...WRITES }))('%s', (tool, caseOf) => {
  const nobody = {} as Side;
  const inWorkspace = caseOf(nobody, nobody).some(({ args }) => 'workspace_id' in args);
  const sides = (): [Side, Side][] => [
    [alpha, beta],
    [beta, alpha],
  ];

  it('T85 T86 shows a member and its agent nothing of the other workspace, whatever ids they name', async () => {
    for (const [mine, theirs] of sides())
      for (const attempt of caseOf(mine, theirs))
        judge(tool, attempt, await cortex.call(tool, attempt.args, { token: mine[attempt.as] }), mine, theirs);
  });

  it('T85 T86 nor does its service by itself, when a request gets past the edge', async () => {
    for (const [mine, theirs] of sides())
      for (const attempt of caseOf(mine, theirs))
        judge(tool, attempt, await pastTheEdge(tool, attempt, mine), mine, theirs);
  });

  if (!inWorkspace) return;
  it('T85 refuses the workspace of others before its service is asked', async () => {
    for (const [mine, theirs] of sides())
      for (const { as, args } of caseOf(mine, theirs).filter((attempt) => 'workspace_id' in attempt.args)) {
        const answer = await cortex.call(tool, { ...args, workspace_id: theirs.workspace }, { token: mine[as] });
        // An agent's workspace is its session's: what the argument names is not looked at.
        if (as === 'person') expect(answer).toMatchObject({ ok: false, kind: 'permission_denied' });
        expect(`${answer.text} ${JSON.stringify(answer.structured)}`).not.toContain(theirs.canary);
      }
  });
});

/** The request as the edge would send it after its gates; only who asks and in which workspace is as it must be. */
async function pastTheEdge(tool: string, { as, args }: Attempt, mine: Side): Promise<Given> {
  const { workspace_id: _, ...rest } = args;
  const { workspace, session, person_id, project } = mine;
  const agent = as === 'agent';
  const principal: Principal = { type: agent ? 'agent' : 'user', id: agent ? session : person_id, roles: [] };
  const scope: CallScope = agent
    ? { session_id: session, user_id: person_id, project, channel: `web:${session}` }
    : { user_id: person_id };
  const approval = { via: 'mode' };
  const request = { v: 1, call_id: randomUUID(), principal, scope, args: rest, approval, deadline_ms: 10_000 };
  const workspace_id = agent || 'workspace_id' in args ? workspace : null;
  const owner = ownerOf.get(tool) ?? '';
  const reply = await edge.request(subjects.tool(owner, tool), JSON.stringify({ ...request, workspace_id }), {
    timeoutMs: 15_000,
  });
  const [line = '', ...body] = reply.string().split('\n');
  const head = JSON.parse(line) as { ok: boolean; error?: { kind: string; message: string } };
  if (!head.ok) return { ok: false, kind: head.error?.kind, text: head.error?.message ?? '' };
  const { structuredContent } = JSON.parse(`{${body.join('\n')}}`) as { structuredContent: Record<string, unknown> };
  return { ok: true, text: '', structured: structuredContent };
}

describe('row-level security alone', () => {
  interface Rows {
    table: string;
    mine: string;
    theirs: string;
  }
  /** Counts in every table of a service that has a workspace; as the service's own role, bound to a workspace or to none. */
  async function rowsOf(service: ServiceName, bound: string | null, as = schemaOf(service)): Promise<Rows[]> {
    const { database } = readSecrets(cortex.home);
    const url = new URL(cortex.state.database_url);
    const admin = as === database.admin.user;
    url.username = as;
    url.password = admin ? database.admin.password : String(database[as]);
    const client = new Client({ connectionString: url.href });
    await client.connect();
    try {
      const { rows: tables } = await client.query<{ table_name: string }>(
        `select c.relname as table_name from pg_class c join pg_namespace n on n.oid = c.relnamespace
         join pg_attribute a on a.attrelid = c.oid and a.attname = 'workspace_id' and not a.attisdropped
         where n.nspname = $1 and c.relkind in ('r', 'p') order by 1`,
        [schemaOf(service)],
      );
      const counts: Rows[] = [];
      for (const { table_name: table } of tables) {
        await client.query('begin');
        if (bound !== null) await client.query("select set_config('cortex.workspace', $1, true)", [bound]);
        const { rows } = await client.query<Omit<Rows, 'table'>>(
          `select count(*) filter (where workspace_id = $1) as mine, count(*) filter (where workspace_id <> $1) as theirs
           from ${schemaOf(service)}.${table}`,
          [bound ?? ''],
        );
        await client.query('rollback');
        counts.push({ table, mine: rows[0]?.mine ?? '', theirs: rows[0]?.theirs ?? '' });
      }
      return counts;
    } finally {
      await client.end();
    }
  }

  it.each(['session', 'waitpoint', 'memory', 'ticket', 'billing', 'audit'] as const)(
    'T85 gives %s the rows of the workspace that it is bound to, and without one none, in each of its tables',
    async (service) => {
      const { user } = readSecrets(cortex.home).database.admin;
      const all = await rowsOf(service, 'alpha', user);
      // There is something to be seen on both sides, or this says nothing.
      expect(all.some(({ mine, theirs }) => Number(mine) > 0 && Number(theirs) > 0)).toBe(true);
      const bound = await rowsOf(service, 'alpha');
      expect(bound).toEqual(all.map(({ table, mine }) => ({ table, mine, theirs: '0' })));
      const unbound = await rowsOf(service, null);
      expect(unbound).toEqual(all.map(({ table }) => ({ table, mine: '0', theirs: '0' })));
    },
  );
});

it('P86 P87 a rebuild of every view of every service gives exactly the rows that are there, of both workspaces', async () => {
  const tables = definitions.flatMap(({ name, projections = [] }) =>
    projections.flatMap((projection) => projection.tables.map((table) => `${schemaOf(name)}.${table}`)),
  );
  const rows = async (): Promise<[string, unknown][]> => {
    await cortex.caughtUp();
    const read = async (table: string): Promise<[string, unknown]> => [
      table,
      await cortex.sql(`select to_jsonb(t) as row from ${table} t order by to_jsonb(t)::text`),
    ];
    return Promise.all([...new Set(tables)].map(read));
  };
  const before = await rows();
  const { code, stderr } = await cortex.cortex(['projections', 'rebuild', '--all']);
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  expect(await rows()).toEqual(before);
});
