import { PROVISIONER, SERVICES, type BusUser, type ServiceName } from './services.js';
import { BLOBS, BUCKETS, CALLS_STREAM, EVENTS_STREAM, inboxPrefix, SSE_STREAM, type Bucket } from './subjects.js';

/** Who may send what to whom. A subject that stands in no row can be sent by nobody but the provisioner. */
export interface AccessRow {
  /** A subject; `*` is one whole token, never a part of one. */
  subject: string;
  owner: ServiceName;
  /** Who may send it; the provisioner (operator, launcher) is named where it may. */
  senders: readonly BusUser[];
}

const each = (subject: (service: ServiceName) => string, senders: readonly BusUser[]): AccessRow[] =>
  SERVICES.map((owner) => ({ subject: subject(owner), owner, senders }));

/**
 * The one table of requests on the bus (architecture, sections 9 and 11.1). Permissions of the NATS users and the
 * handlers' own check of who calls are both made of it.
 */
export const ACCESS: readonly AccessRow[] = [
  ...each((service) => `cortex.tool.${service}.*`, ['mcp-edge']),
  ...each((service) => `cortex.live.${service}.cancel`, ['mcp-edge']),
  ...each((service) => `cortex.query.${service}.approval_payload`, ['mcp-edge']),
  { subject: 'cortex.query.remote-ops.devices', owner: 'remote-ops', senders: ['mcp-edge', PROVISIONER] },
  { subject: 'cortex.cmd.remote-ops.add_device', owner: 'remote-ops', senders: [PROVISIONER] },
  { subject: 'cortex.cmd.remote-ops.issue_join_code', owner: 'remote-ops', senders: [PROVISIONER] },
  { subject: 'cortex.cmd.remote-ops.revoke_device', owner: 'remote-ops', senders: [PROVISIONER] },
  // A device's connection is held by one instance of remote-ops; the others send its commands there.
  { subject: 'cortex.node.remote-ops.*.command', owner: 'remote-ops', senders: ['remote-ops'] },
  { subject: 'cortex.node.remote-ops.*.cancel', owner: 'remote-ops', senders: ['remote-ops'] },
  // The device spool: it names machines and files that fit a pattern, never a command.
  { subject: 'cortex.query.remote-ops.reachable_devices', owner: 'remote-ops', senders: ['waitpoint'] },
  { subject: 'cortex.cmd.remote-ops.read_spool', owner: 'remote-ops', senders: ['waitpoint'] },
  { subject: 'cortex.cmd.remote-ops.remove_spool', owner: 'remote-ops', senders: ['waitpoint'] },
  { subject: 'cortex.live.remote-ops.devices', owner: 'remote-ops', senders: ['remote-ops'] },
  { subject: 'cortex.cmd.mcp-edge.register_person', owner: 'mcp-edge', senders: [PROVISIONER] },
  { subject: 'cortex.cmd.mcp-edge.review_definition', owner: 'mcp-edge', senders: [PROVISIONER] },
  { subject: 'cortex.query.mcp-edge.person', owner: 'mcp-edge', senders: ['session'] },
  { subject: 'cortex.query.mcp-edge.person_name', owner: 'mcp-edge', senders: ['ticket'] },
  { subject: 'cortex.cmd.ticket.report_gap', owner: 'ticket', senders: ['mcp-edge'] },
  { subject: 'cortex.cmd.ticket.note_backend_gap', owner: 'ticket', senders: ['mcp-edge'] },
  { subject: 'cortex.cmd.ticket.triage_gap', owner: 'ticket', senders: ['mcp-edge'] },
  { subject: 'cortex.query.ticket.list_gaps', owner: 'ticket', senders: ['mcp-edge'] },
  { subject: 'cortex.live.mcp-edge.views', owner: 'mcp-edge', senders: ['mcp-edge'] },
  ...['upsert_workspace', 'set_member', 'set_approval_mode', 'set_guard_rule', 'remove_guard_rule', 'set_autonomy'].map(
    (name): AccessRow => ({ subject: `cortex.cmd.team.${name}`, owner: 'team', senders: [PROVISIONER] }),
  ),
  { subject: 'cortex.query.team.workspaces', owner: 'team', senders: [PROVISIONER] },
  { subject: 'cortex.query.team.workspace', owner: 'team', senders: ['session', PROVISIONER] },
  ...['open_session', 'end_session', 'issue_token'].map((name): AccessRow => ({
    subject: `cortex.cmd.session.${name}`,
    owner: 'session',
    senders: [PROVISIONER],
  })),
  { subject: 'cortex.query.session.sessions', owner: 'session', senders: [PROVISIONER] },
  { subject: 'cortex.query.session.session', owner: 'session', senders: [PROVISIONER] },
  { subject: 'cortex.query.session.jwks', owner: 'session', senders: ['mcp-edge'] },
  { subject: 'cortex.cmd.session.deliver', owner: 'session', senders: ['waitpoint'] },
  { subject: 'cortex.cmd.waitpoint.signal', owner: 'waitpoint', senders: ['mcp-edge'] },
  { subject: 'cortex.query.waitpoint.rejections', owner: 'waitpoint', senders: [PROVISIONER] },
  { subject: 'cortex.cmd.billing.record_usage', owner: 'billing', senders: ['mcp-edge'] },
  { subject: 'cortex.cmd.billing.record_cost', owner: 'billing', senders: ['session'] },
  { subject: 'cortex.cmd.billing.set_budget', owner: 'billing', senders: [PROVISIONER] },
  { subject: 'cortex.cmd.billing.clear_project_budget', owner: 'billing', senders: [PROVISIONER] },
  { subject: 'cortex.cmd.memory.set_grant', owner: 'memory', senders: [PROVISIONER] },
  { subject: 'cortex.query.billing.budgets', owner: 'billing', senders: [PROVISIONER] },
  { subject: 'cortex.cmd.audit.start_execution', owner: 'audit', senders: ['session'] },
  { subject: 'cortex.cmd.audit.finish_execution', owner: 'audit', senders: ['session'] },
  { subject: 'cortex.cmd.audit.purge', owner: 'audit', senders: ['mcp-edge', PROVISIONER] },
];

const matches = (pattern: string, subject: string): boolean => {
  const p = pattern.split('.');
  const s = subject.split('.');
  return p.length === s.length && p.every((token, i) => token === '*' || token === s[i]);
};

/** Users that may send to this subject; empty when nobody may. */
export function sendersOf(subject: string): readonly BusUser[] {
  let senders = known.get(subject);
  if (!senders) {
    senders = ACCESS.find((row) => matches(row.subject, subject))?.senders ?? [];
    if (known.size < KNOWN_LIMIT) known.set(subject, senders);
  }
  return senders;
}

/** Asked for every message, so it is found once per subject; bounded, since subjects come from outside. */
const known = new Map<string, readonly BusUser[]>();
const KNOWN_LIMIT = 1024;

/** True when a message on `subject` that wants its answer at `reply` comes from somebody who may send it (threat T81). */
export function mayCall(subject: string, reply: string | undefined): boolean {
  if (!reply) return false;
  return sendersOf(subject).some((user) => reply.startsWith(`${inboxPrefix(user)}.`));
}

/** A durable consumer that a service pulls from; the registries in the code name them. */
export interface ConsumerRef {
  stream: string;
  name: string;
}

export interface BusPermissions {
  publish: string[];
  subscribe: string[];
}

const mayWrite = (bucket: Bucket, service: ServiceName): boolean =>
  bucket.writers === 'all' || bucket.writers.includes(service);

const keysOf = (bucket: Bucket, service: ServiceName): string[] =>
  bucket.own_prefix ? [`$KV.${bucket.name}.${service}`, `$KV.${bucket.name}.${service}.*`] : [`$KV.${bucket.name}.>`];

/**
 * What the NATS user of a service may publish and subscribe to. Streams, consumers and buckets are made by provisioning
 * alone, so nothing here creates, changes, purges or deletes one. Reading the log cannot be limited by subject on the
 * server (threat model, section 6); writing is.
 */
export function busPermissions(service: ServiceName, consumers: readonly ConsumerRef[]): BusPermissions {
  const sends = ACCESS.filter((row) => row.senders.includes(service)).map((row) => row.subject);
  const callers = new Set(ACCESS.filter((row) => row.owner === service).flatMap((row) => row.senders));
  const buckets = Object.values(BUCKETS) as Bucket[];
  const writable = buckets.filter((bucket) => mayWrite(bucket, service));
  const publish = [
    ...sends,
    `cortex.evt.${service}.>`,
    ...(service === 'mcp-edge' ? ['cortex.call.>', 'cortex.sse.>'] : []),
    ...[...callers].map((user) => `${inboxPrefix(user)}.>`),
    '$JS.API.INFO',
    ...[EVENTS_STREAM, CALLS_STREAM, SSE_STREAM, ...buckets.map((b) => `KV_${b.name}`), BLOBS].map(
      (stream) => `$JS.API.STREAM.INFO.${stream}`,
    ),
    // Of the buckets those that it writes: results kept for a key and protocol sessions are nobody's but the edge's.
    ...[EVENTS_STREAM, BLOBS, ...writable.map((b) => `KV_${b.name}`)].flatMap((stream) => [
      `$JS.API.DIRECT.GET.${stream}`,
      `$JS.API.DIRECT.GET.${stream}.>`,
      `$JS.API.STREAM.MSG.GET.${stream}`,
    ]),
    ...(service === 'mcp-edge' ? [`$JS.API.DIRECT.GET.${SSE_STREAM}`, `$JS.API.DIRECT.GET.${SSE_STREAM}.>`] : []),
    ...consumers.flatMap(({ stream, name }) => [
      `$JS.API.CONSUMER.INFO.${stream}.${name}`,
      `$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`,
      `$JS.ACK.${stream}.${name}.>`,
      // What a view was given and has not applied is read again from the stream.
      `$JS.API.STREAM.MSG.GET.${stream}`,
    ]),
    ...writable.flatMap((bucket) => keysOf(bucket, service)),
    `cortex.blob.${service}.>`,
  ];
  const subscribe = [
    `${inboxPrefix(service)}.>`,
    `cortex.tool.${service}.*`,
    `cortex.query.${service}.*`,
    `cortex.cmd.${service}.*`,
    `cortex.node.${service}.>`,
    `cortex.live.${service}.*`,
    // The edge follows announcements, waits for events (architecture, 11.1 and 11.3) and resumes streams of other instances.
    ...(service === 'mcp-edge'
      ? ['cortex.evt.>', 'cortex.sse.>', `$KV.${BUCKETS.tools.name}.>`, `$KV.${BUCKETS.nodes.name}.>`]
      : []),
  ];
  return { publish: [...new Set(publish)].sort(), subscribe: [...new Set(subscribe)].sort() };
}
