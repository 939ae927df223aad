import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RECENT_MESSAGES } from './session/session.decider.js';
import { errorOf, lab, type Lab } from './testing/lab.js';

let t: Lab;
beforeAll(async () => {
  t = await lab();
});
afterAll(async () => t[Symbol.asyncDispose]());

interface Inbox {
  session: { status: string; person_id: string | null; scopes: string[]; execution_id: string | null; trigger: string };
  messages: { message_id: string; text: string; tag: string | null; origin: string; delivery: string }[];
  next_cursor: string | null;
}
const inbox = (session_id: string, args: Record<string, unknown> = {}) =>
  t.query<Inbox>('session', { session_id, ...args });
const texts = async (session_id: string) => (await inbox(session_id)).messages.map(({ text }) => text);
const openIn = (args: Record<string, unknown> = {}) => t.open({ workspace_id: 'w1', ...args });

describe('a message', () => {
  it('stands in the inbox when it is answered, held for whoever runs the session', async () => {
    const { session_id } = await openIn();
    const answer = await t.deliver({ session_id, text: 'the job has ended', tag: 'wp_1:1' });
    expect(answer).toEqual({ message_id: expect.any(String), session_id, delivery: 'held' });
    expect((await inbox(session_id)).messages).toEqual([
      {
        message_id: answer.message_id,
        at: expect.any(String),
        origin: 'external-signal',
        delivery: 'held',
        tag: 'wp_1:1',
        text: 'the job has ended',
      },
    ]);
  });

  it('delivered twice with its tag is one message, with other text or tag another one', async () => {
    const { session_id } = await openIn();
    const first = await t.deliver({ session_id, text: 'a', tag: 't' });
    expect(await t.deliver({ session_id, text: 'a', tag: 't' })).toEqual(first);
    await Promise.all(Array.from({ length: 8 }, () => t.deliver({ session_id, text: 'a', tag: 't' })));
    await t.deliver({ session_id, text: 'b', tag: 't' });
    await t.deliver({ session_id, text: 'a', tag: 'u' });
    expect(await texts(session_id)).toEqual(['a', 'b', 'a']);
  });

  it('without a tag is a message each time, but for the same call sent again', async () => {
    const { session_id } = await openIn();
    await t.deliver({ session_id, text: 'a' });
    await t.deliver({ session_id, text: 'a' });
    const again = { key: 'd1', caller: 'b'.repeat(64) };
    await t.deliver({ session_id, text: 'c' }, again);
    await t.deliver({ session_id, text: 'c' }, again);
    expect(await texts(session_id)).toEqual(['a', 'a', 'c']);
  });

  it('is found again by its tag after others than can be remembered', async () => {
    const { session_id } = await openIn();
    const first = await t.deliver({ session_id, text: 'first', tag: 't' });
    await Promise.all(
      Array.from({ length: 4 }, async (_, worker) => {
        for (let n = 0; n < RECENT_MESSAGES / 4 + 1; n++)
          await t.deliver({ session_id, text: `${worker}-${n}` }, { deadlineMs: 60_000 });
      }),
    );
    expect(await t.deliver({ session_id, text: 'first', tag: 't' })).toEqual(first);
  });

  it('of a secret is kept without it', async () => {
    const { session_id } = await openIn();
    await t.deliver({ session_id, text: `the log says password=hunter2hunter2` });
    const [text] = await texts(session_id);
    expect(text).not.toContain('hunter2hunter2');
    expect(JSON.stringify(await t.events())).not.toContain('hunter2hunter2');
  });

  it.each([
    ['no text', { text: '' }, 'text'],
    ['too long a text', { text: 'x'.repeat(30_001) }, 'text'],
    ['a NUL', { text: 'nul \0' }, 'text'],
    ['an origin that nobody knows', { text: 'x', origin: 'elsewhere' }, 'origin'],
    ['a channel of no platform', { text: 'x', channel: 'cli:1' }, 'channel'],
    ['a channel without a conversation', { text: 'x', channel: 'web:' }, 'channel'],
    ['too long a tag', { text: 'x', tag: 't'.repeat(201) }, 'tag'],
  ])('with %s is refused by its field', async (_, args, field) => {
    const { session_id } = await openIn();
    expect(await errorOf(t.deliver({ session_id, ...args }))).toMatchObject({ kind: 'invalid_argument', field });
  });

  it('for nobody is refused', async () => {
    expect(await errorOf(t.deliver({ text: 'x' }))).toMatchObject({ kind: 'invalid_argument' });
    expect(await errorOf(t.deliver({ text: 'x', session_id: 'nope' }))).toMatchObject({ kind: 'not_found' });
  });

  it('of the largest size arrives whole', async () => {
    const { session_id } = await openIn();
    const text = '😀'.repeat(30_000);
    await t.deliver({ session_id, text });
    const [shown] = await texts(session_id);
    expect(shown === text).toBe(true);
  });
});

describe('an inbox', () => {
  it('is read page by page, newest page first, newest message last', async () => {
    const { session_id } = await openIn();
    for (const text of ['1', '2', '3', '4', '5']) await t.deliver({ session_id, text });
    const last = await inbox(session_id, { limit: 2 });
    expect(last.messages.map(({ text }) => text)).toEqual(['4', '5']);
    const before = await inbox(session_id, { limit: 2, cursor: last.next_cursor! });
    expect(before.messages.map(({ text }) => text)).toEqual(['2', '3']);
    const first = await inbox(session_id, { limit: 2, cursor: before.next_cursor! });
    expect([first.messages.map(({ text }) => text), first.next_cursor]).toEqual([['1'], null]);
  });
});

describe('a message for a session that has ended', () => {
  it('goes to the session that is open on its channel', async () => {
    const gone = await openIn({ channel: 'slack:A' });
    const now = await openIn({ channel: 'slack:A' });
    await t.command('end_session', { session_id: gone.session_id });
    expect(await t.deliver({ session_id: gone.session_id, text: 'x' })).toMatchObject({ session_id: now.session_id });
  });

  it('makes one there when none is open, with no more rights than the one before, and no run', async () => {
    const { session_id, channel } = await openIn({ scopes: ['mcp:cortex:read'] });
    await t.command('end_session', { session_id });
    const { session_id: heir } = await t.deliver({ session_id, channel, text: 'x', tag: 't' });
    expect(heir).not.toBe(session_id);
    const { session, messages } = await inbox(heir);
    expect(session).toMatchObject({
      status: 'open',
      channel,
      person_id: 'per_1',
      scopes: ['mcp:cortex:read'],
      execution_id: null,
      user_started: false,
      trigger: 'external-signal',
    });
    expect(messages).toHaveLength(1);
    expect(t.around.runs.some(({ args }) => args['session_id'] === heir)).toBe(false);
  });

  it('makes one session and one message, however many deliveries race', async () => {
    const { session_id, channel } = await openIn();
    await t.command('end_session', { session_id });
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => t.deliver({ session_id, channel, text: 'x', tag: 'race' })),
    );
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(await texts(answers[0]!.session_id)).toEqual(['x']);
  });

  it('that ends while they are on their way loses none and doubles none', async () => {
    const { session_id, channel } = await openIn();
    const numbers = Array.from({ length: 12 }, (_, n) => `n${n}`);
    const deliveries = numbers.map((n) => t.deliver({ session_id, channel, text: n, tag: n }));
    const [answers] = await Promise.all([Promise.all(deliveries), t.command('end_session', { session_id })]);
    const holders = new Set(answers.map((answer) => answer.session_id));
    const found = (await Promise.all([...holders].map((holder) => texts(holder)))).flat();
    expect(found.toSorted()).toEqual(numbers.toSorted());
  });

  it('that had it before it ended is not delivered to its successor', async () => {
    const { session_id, channel } = await openIn();
    const first = await t.deliver({ session_id, channel, text: 'x', tag: 't' });
    await t.command('end_session', { session_id });
    expect(await t.deliver({ session_id, channel, text: 'x', tag: 't' })).toEqual(first);
    expect(await t.deliver({ channel, text: 'x', tag: 't' })).toEqual(first);
  });

  it('makes a successor of the successor when that one has ended too', async () => {
    const { session_id, channel } = await openIn();
    await t.command('end_session', { session_id });
    const second = await t.deliver({ channel, text: '2' });
    await t.command('end_session', { session_id: second.session_id });
    const third = await t.deliver({ channel, text: '3' });
    expect(new Set([session_id, second.session_id, third.session_id]).size).toBe(3);
    expect(await texts(third.session_id)).toEqual(['3']);
  });
});

describe('a message for a channel', () => {
  it('that nobody was ever on makes a session of nobody, with no rights', async () => {
    const { session_id } = await t.deliver({ channel: 'slack:new', text: 'x' });
    expect((await inbox(session_id)).session).toMatchObject({ person_id: null, scopes: [], project: 'general' });
  });

  it('stays in its workspace: the same channel elsewhere is another one', async () => {
    const here = await openIn({ channel: 'slack:shared' });
    const there = await t.deliver({ channel: 'slack:shared', text: 'x' }, { workspace: 'w2' });
    expect(there.session_id).not.toBe(here.session_id);
    expect(await texts(here.session_id)).toEqual([]);
  });
});
