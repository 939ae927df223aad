import { randomBytes } from 'node:crypto';
import { failedPrecondition, invalidArgument, notFound, resourceExhausted, sha256Hex } from '@cortex/contracts';
import { charCount } from '@cortex/contracts/text';
import type { EmitFrom } from '@cortex/contracts/waitpoint';
import type { EventStore } from '@cortex/eventstore';
import { CONFIG, defineTool, STORE, type ToolContext } from '@cortex/service-kit';
import { z } from 'zod';
import { Places } from '../adapters/places.js';
import { commit } from '../commit.js';
import type { Config } from '../config.js';
import { waitpoints } from '../projections/waitpoints.projection.js';
import { howToSignal, HowToSignal, nextSteps } from './how-to-signal.js';
import { askerOf, EmitFromShape, GROUP } from './shared.js';

const LONGEST_HOURS = 720;
const HOUR_MS = 3_600_000;
/** Armed ones of a session. */
const MOST_ARMED = 200;

const filled = (what: string, fix: string, most: number) =>
  z
    .string()
    .refine((text) => text.trim() !== '', `must not be empty; ${fix}`)
    .refine((text) => !text.includes('\0'), 'holds a NUL character; remove it')
    .refine((text) => charCount(text) <= most, {
      message: `has more than ${most} characters; shorten it`,
      params: { reason: 'too_large' },
    })
    .describe(`${what}, 1 to ${most} characters`);

/**
 * Arms a waitpoint for the session that calls.
 * Events: WaitpointCreated. Errors: invalid_argument (label, intent, members, quorum, expires_in_hours), not_found (device),
 * failed_precondition (a session without a channel), resource_exhausted (200 armed ones).
 */
export const waitCreate = defineTool({
  name: 'wait_create',
  title: 'Arm a waitpoint',
  description:
    'Registers a lasting "wake me when this finishes" for a job that runs outside, and returns a secret, shown once, with ' +
    'lines to paste that signal it. Put a line where the job will run it, then end your turn: waiting costs nothing. ' +
    'One that nobody signals expires, and you are told. See wait_check, wait_cancel.',
  tier: 'write',
  actions: [],
  workspace: 'none',
  session: true,
  group: GROUP,
  input: z.object({
    label: filled('Name of the job', 'name the job', 120),
    intent: filled(
      'What is awaited and what to do then; you read it when you are woken',
      'say what to do when it ends',
      4_000,
    ),
    members: z
      .array(z.string().describe('Name of one job, up to 120 characters'))
      .max(64)
      .optional()
      .describe('Names of the jobs when several report to this one waitpoint, at most 64'),
    quorum: z
      .unknown()
      .meta({ description: 'How many must report: a whole number, or "all"; default all members, else 1' })
      .optional(),
    fail_fast: z.boolean().default(true).describe('Fire at the first failure even if too few have reported'),
    max_signals: z
      .number()
      .int()
      .min(1)
      .max(1_000)
      .default(1)
      .describe('How often it may fire, 1 to 1,000; above 1 it stays armed until then'),
    expires_in_hours: z
      .number()
      .optional()
      .describe('Life in hours, more than 0; above 720 is cut to 720; default 168'),
    device: z.string().min(1).optional().describe('Registered machine on which the job runs, if not on this host'),
  }),
  output: z.object({
    id: z.string(),
    secret: z.string().describe('Resolves this one waitpoint and nothing else; shown this once'),
    label: z.string(),
    intent: z.string(),
    state: z.literal('armed'),
    quorum: z.object({ need: z.number().int(), got: z.literal(0), members: z.array(z.string()) }),
    fail_fast: z.boolean(),
    max_signals: z.number().int(),
    fires: z.literal(0),
    emit_from: EmitFromShape,
    created_at: z.string(),
    expires_at: z.string(),
    how_to_signal: HowToSignal,
    next: z.string(),
  }),
  async handle(args, ctx) {
    const { label, intent, fail_fast, max_signals, device = null } = args;
    const { CORTEX_HOME: home, WEBHOOK_PORT: port, CORTEX_WAITPOINT_TTL_MS: ttl } = ctx.get<Config>(CONFIG);
    const members = namesOf(args.members ?? []);
    const need = needOf(args.quorum, members.length);
    const life_ms = lifeOf(args.expires_in_hours, ttl);
    const { session_id, channel } = askerOf(ctx);
    if (channel === undefined) {
      throw failedPrecondition(undefined, 'the session has no channel to be woken on', 'open one with a channel', {
        reason: 'invalid_state',
      });
    }
    if (device !== null) await assertDevice(ctx, device);
    const [id] = await Promise.all([newId(ctx), assertRoom(ctx, session_id)]);
    const created_at = ctx.now();
    const secret = randomBytes(16).toString('hex');
    const emit_from: EmitFrom = device === null ? { kind: 'local' } : { kind: 'device', device };
    const expires_at = new Date(Date.parse(created_at) + life_ms).toISOString();
    const project = ctx.scope.project ?? null;
    const armed = { label, intent, members, need, fail_fast, max_signals, emit_from, expires_at };
    const { seq } = await commit(
      ctx.get<EventStore>(STORE),
      {
        workspace: ctx.workspace,
        id,
        actor: { kind: ctx.caller.type, id: ctx.caller.id },
        at: created_at,
        cause: ctx.call_id,
        session: { session_id, project },
      },
      {
        type: 'CreateWaitpoint',
        waitpoint: { waitpoint_id: id, session_id, channel, project, ...armed, secret_sha256: sha256Hex(secret) },
      },
    );
    // A signal may come as soon as somebody has the answer, and must find it.
    ctx.get(Places).know(id, ctx.workspace);
    await ctx.get(Places).shown(seq);
    return {
      id,
      secret,
      label,
      intent,
      state: 'armed' as const,
      quorum: { need, got: 0 as const, members },
      fail_fast,
      max_signals,
      fires: 0 as const,
      emit_from,
      created_at,
      expires_at,
      how_to_signal: howToSignal({ id, secret, members, device, port, home }),
      next: nextSteps({ members, device }),
    };
  },
});

function namesOf(members: readonly string[]): string[] {
  members.forEach((name, index) => {
    const field = `members[${index}]`;
    if (name.trim() === '' || name.includes('\0')) throw invalidArgument(field, 'must not be empty', 'name the job');
    if (charCount(name) > 120) {
      throw invalidArgument(field, 'has more than 120 characters', 'shorten it', { reason: 'too_large' });
    }
    const first = members.indexOf(name);
    if (first < index) throw invalidArgument(field, `repeats members[${first}]`, 'give distinct names');
  });
  return [...members];
}

function needOf(quorum: unknown, members: number): number {
  const most = members > 0 ? members : 100;
  if (quorum === undefined || quorum === null || quorum === 'all') return Math.max(members, 1);
  if (typeof quorum === 'number' && Number.isInteger(quorum) && quorum >= 1 && quorum <= most) return quorum;
  throw invalidArgument('quorum', `must be "all" or an integer from 1 to ${most}`, 'leave it out for all');
}

function lifeOf(hours: number | undefined, ttl: number): number {
  if (hours === undefined) return ttl;
  if (hours > 0) return Math.max(1, Math.round(Math.min(hours, LONGEST_HOURS) * HOUR_MS));
  throw invalidArgument('expires_in_hours', 'must be greater than 0', 'the default is 168');
}

async function assertDevice(ctx: ToolContext, device: string): Promise<void> {
  const { devices } = await ctx.ask<{ devices: string[] }>('cortex.query.remote-ops.reachable_devices', {});
  if (devices.includes(device)) return;
  const fix = devices.length === 0 ? 'leave it out: there is none' : `use one of ${devices.join(', ')}`;
  throw notFound('device', `"${device.slice(0, 64)}" is not registered`, fix);
}

/** A bound on what is kept, so it may be asked of the view: calls at the same moment pass it by no more than their number. */
async function assertRoom(ctx: ToolContext, session_id: string): Promise<void> {
  const db = await ctx.read(waitpoints);
  const { armed } = await db
    .selectFrom('waitpoints')
    .select(({ fn }) => fn.countAll<string>().as('armed'))
    .where('session_id', '=', session_id)
    .where('state', '=', 'armed')
    .executeTakeFirstOrThrow();
  if (Number(armed) < MOST_ARMED) return;
  throw resourceExhausted(undefined, `this session has ${MOST_ARMED} armed waitpoints`, 'cancel some with wait_cancel');
}

/** The same for a call that comes again; another one where somebody else's waitpoint has it by chance. */
async function newId(ctx: ToolContext): Promise<string> {
  for (;;) {
    const id = `wp_${sha256Hex(ctx.newId()).slice(0, 12)}`;
    const place = await ctx.get(Places).find(id);
    if (place === null || place === (ctx.workspace ?? '_')) return id;
  }
}
