import { Id, invalidArgument, isCortexError, sha256Hex, unavailable } from '@cortex/contracts';
import { DELIVERY_ORIGINS } from '@cortex/contracts/session';
import { defineCommand, text, uuidOf, type ToolContext } from '@cortex/service-kit';
import { z } from 'zod';
import { findSession, rowsOf, settled, type FoundSession } from '../session/find.js';
import { session } from '../session/session.decider.js';
import { succeedingStart } from '../session/start.js';
import { Channel } from './fields.js';

/** Beyond this the redactor would cut it. */
const TEXT_CHARS = 30_000;
/** Sessions that end under a delivery, one after the other, before it is given up. */
const MOST_TRIES = 5;

const input = z.object({
  session_id: Id.optional().describe('While this session is open the message is for it'),
  channel: Channel.optional().describe('Else for the open session of this channel; default that of `session_id`'),
  text: text({ max: TEXT_CHARS, blank: false }),
  origin: z.enum(DELIVERY_ORIGINS),
  tag: text({ max: 200, blank: false }).optional().describe('The same tag with the same text is one message'),
});
type Message = Pick<z.output<typeof input>, 'text' | 'origin' | 'tag'> & { message_id: string };

/** Where a message goes: the workspace and the channel in it. */
interface Place {
  workspace: string | null;
  channel: string;
}

/**
 * Brings a message to a session. One that has ended is followed by the session that is open on its channel, or by one that is
 * made there: a message is never lost. Answers once it is recorded; `held`: it stands in the inbox, since nothing of ours runs
 * the session. Errors: `not_found` (session_id) where no channel is named either.
 */
export const deliver = defineCommand({
  name: 'deliver',
  input,
  async handle({ session_id, channel, ...message }, ctx) {
    const named = session_id === undefined ? undefined : await found(ctx, session_id, channel !== undefined);
    const place = placeOf(named, channel, ctx.workspace);
    const message_id = idOf(place, message, ctx);
    const to =
      (await deliveredTo(ctx, place, message_id)) ??
      (await deliverTo(ctx, named, { ...message, message_id })) ??
      (await deliverBy(ctx, place, { ...message, message_id }));
    return { message_id, session_id: to, delivery: 'held' as const };
  },
});

/** Undefined for an unknown session, if the message has another way to go. */
async function found(ctx: ToolContext, session_id: string, elsewhere: boolean): Promise<FoundSession | undefined> {
  try {
    return await findSession(ctx, session_id);
  } catch (error) {
    if (elsewhere && isCortexError(error) && error.kind === 'not_found') return undefined;
    throw error;
  }
}

function placeOf(named: FoundSession | undefined, channel: string | undefined, workspace: string | null): Place {
  const where = channel ?? named?.state.start.channel;
  if (where === undefined) throw invalidArgument('session_id', 'is missing, and channel too', 'name one of them');
  return { channel: where, workspace: named === undefined ? workspace : named.workspace };
}

/** Without a tag every delivery is a message of its own, but for the same call sent twice. */
const idOf = (
  { workspace, channel }: Place,
  { tag, text: body }: Omit<Message, 'message_id'>,
  ctx: ToolContext,
): string =>
  tag === undefined ? ctx.newId() : uuidOf(JSON.stringify(['message', workspace, channel, tag, sha256Hex(body)]));

/** The session that holds the message already: it may have ended since, and its successor must not get it again. */
async function deliveredTo(ctx: ToolContext, { workspace }: Place, message_id: string): Promise<string | undefined> {
  const row = await rowsOf(ctx, workspace)
    .selectFrom('messages')
    .select('session_id')
    .where('message_id', '=', message_id)
    .executeTakeFirst();
  return row?.session_id;
}

/** Undefined when the session has ended. */
async function deliverTo(
  ctx: ToolContext,
  to: FoundSession | undefined,
  message: Message,
): Promise<string | undefined> {
  if (to === undefined) return undefined;
  const { session_id, workspace, state } = to;
  // Also to one that has ended: whether it got this message before, its own state knows.
  const { tag = null, ...rest } = message;
  const command = { type: 'DeliverMessage' as const, ...rest, tag };
  try {
    await ctx.execute(session, session_id, command, { workspace, scope: { session_id, project: state.start.project } });
    return session_id;
  } catch (error) {
    if (isCortexError(error) && error.reason === 'invalid_state') return undefined;
    throw error;
  }
}

/** To the newest open session of the channel, else to one that is made for it. */
async function deliverBy(ctx: ToolContext, place: Place, message: Message): Promise<string> {
  let tries = 0;
  for (let before = await newest(ctx, place); tries < MOST_TRIES; tries++) {
    const open = before?.state.status === 'open' ? before : await successor(ctx, place, message, before);
    const to = await deliverTo(ctx, open, message);
    if (to !== undefined) return to;
    before = open;
  }
  throw unavailable('channel', 'has sessions that end as soon as they begin', 'try again in a moment');
}

/** An open one before any that has ended. */
async function newest(ctx: ToolContext, { workspace, channel }: Place): Promise<FoundSession | undefined> {
  await settled(ctx);
  const row = await rowsOf(ctx, workspace)
    .selectFrom('sessions')
    .select('session_id')
    .where('channel', '=', channel)
    .orderBy((eb) => eb('ended_at', 'is', null), 'desc')
    .orderBy('started_at', 'desc')
    .executeTakeFirst();
  return row && findSession(ctx, row.session_id);
}

/** Its id is made of what was there before, so that deliveries that race make one session and not two. */
async function successor(
  ctx: ToolContext,
  { workspace, channel }: Place,
  { origin }: Message,
  before: FoundSession | undefined,
): Promise<FoundSession> {
  const session_id = uuidOf(JSON.stringify(['session', workspace, channel, before?.session_id ?? null]));
  const start = succeedingStart(session_id, channel, origin, before?.state.start);
  const scope = { session_id, project: start.project };
  await ctx.execute(session, session_id, { type: 'StartSession', session_id, start }, { workspace, scope });
  const { state, seq } = await ctx.load(session, session_id, { workspace });
  if (state.status === 'none') throw unavailable('session_id', 'was erased at this moment', 'try again');
  return { session_id, workspace, state, seq };
}
