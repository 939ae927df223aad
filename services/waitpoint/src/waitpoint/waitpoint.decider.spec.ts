import type { WaitpointEvent } from '@cortex/contracts/waitpoint';
import { foldHistories } from '@cortex/testing/fold-histories';
import { specFor } from '@cortex/testing/spec-for';
import { describe, expect, it } from '@jest/globals';
import { MOST_SPARE, waitpoint, type RecordSignal, type WaitpointCommand } from './waitpoint.decider.js';

type DataOf<Type extends WaitpointEvent['type']> = Extract<WaitpointEvent, { type: Type }>['data'];
type At = WaitpointEvent & { at: string };

const given = specFor(waitpoint);
const waitpoint_id = 'wp_1a2b3c4d5e6f';
const START = Date.parse('2026-03-01T09:00:00.000Z');
const t = (seconds: number): string => new Date(START + seconds * 1_000).toISOString();
const HOUR = 3_600;

const settings = (more: Partial<DataOf<'WaitpointCreated'>> = {}): DataOf<'WaitpointCreated'> => ({
  waitpoint_id,
  session_id: 's1',
  channel: 'web:s1',
  project: 'general',
  label: 'train',
  intent: 'compare',
  members: [],
  need: 1,
  fail_fast: true,
  max_signals: 1,
  coalesce_ms: 0,
  emit_from: { kind: 'local' },
  expires_at: t(168 * HOUR),
  secret_sha256: 'a'.repeat(64),
  ...more,
});
const created = (more: Partial<DataOf<'WaitpointCreated'>> = {}): At => ({
  type: 'WaitpointCreated',
  data: settings(more),
  at: t(0),
});
const create = ({ coalesce_ms: _coalesce, ...rest }: DataOf<'WaitpointCreated'> = settings()): WaitpointCommand => ({
  type: 'CreateWaitpoint',
  waitpoint: rest,
});

const signal = (seconds: number, more: Partial<RecordSignal> = {}): RecordSignal => ({
  type: 'RecordSignal',
  at: t(seconds),
  status: 'ok',
  member: null,
  message: null,
  data: null,
  source: 'webhook',
  dedupe_key: null,
  spooled: false,
  nonce: '0123456789abcdef',
  max_wakes_per_hour: 12,
  ...more,
});

/** What comes of commands one after the other, with their times. */
function history(first: At, ...commands: (WaitpointCommand & { at?: string })[]): At[] {
  const meta = { actor: { kind: 'external' as const, id: 'webhook' }, workspace: 'w1', version: 1 };
  const fold = (events: At[]) =>
    events.reduce((state, event) => waitpoint.evolve(state, { ...meta, ...event }), waitpoint.initial);
  return commands.reduce<At[]>(
    (events, command) => {
      const at = command.at ?? events.at(-1)!.at;
      return [...events, ...waitpoint.decide(command, fold(events)).map((event) => ({ ...event, at }))];
    },
    [first],
  );
}
const typesOf = (events: At[]): string[] => events.map(({ type }) => type.replace(/^Waitpoint/, ''));
const firesOf = (events: At[]) => events.flatMap((event) => (event.type === 'WaitpointFired' ? [event.data] : []));
const deliver = (turn: number, signal_nos: number[] = []): WaitpointCommand => ({
  type: 'MarkWakeDelivered',
  message_id: 'm',
  signal_nos,
  turn,
});

describe('creation', () => {
  it('collects signals for 3 s where more than one is needed', () => {
    given().when(create()).then({ type: 'WaitpointCreated', data: settings() });
    given()
      .when(create(settings({ need: 2 })))
      .then({ type: 'WaitpointCreated', data: settings({ need: 2, coalesce_ms: 3_000 }) });
  });
  it('that comes again takes the new secret, as long as nobody used the old one', () => {
    const again = settings({ secret_sha256: 'b'.repeat(64) });
    given(created()).when(create(again)).then({ type: 'WaitpointCreated', data: again });
    given(...history(created(), signal(1, { status: 'progress' })))
      .when(create(again))
      .thenRejects('conflict', 'id');
    given(created())
      .when(create(settings({ session_id: 's2' })))
      .thenRejects('conflict', 'id');
  });
});

describe('a signal', () => {
  it('fires at once where one is needed, whatever it says but progress', () => {
    for (const status of ['ok', 'fail'] as const) {
      const [, recorded, fired] = history(created(), signal(5, { status }));
      expect(recorded).toMatchObject({ type: 'SignalRecorded', data: { n: 1, slot: '#1', status } });
      expect(fired).toMatchObject({ data: { fire_no: 1, cause: 'quorum', closes: true, wake: { turn: 1, at: t(5) } } });
    }
    const progress = history(created(), signal(5, { status: 'progress' }));
    expect(progress.slice(1)).toMatchObject([{ type: 'SignalRecorded', data: { slot: null } }]);
  });
  it('with a key that is on record is recorded once', () => {
    const once = history(created({ max_signals: 5 }), signal(1, { dedupe_key: 'spool:a.json' }));
    given(...once)
      .when(signal(2, { dedupe_key: 'spool:a.json' }))
      .thenNothing();
    expect(
      typesOf(history(created({ max_signals: 5 }), signal(1, { dedupe_key: 'a' }), signal(2, { dedupe_key: 'b' }))),
    ).toEqual(['Created', 'SignalRecorded', 'Fired', 'SignalRecorded', 'Fired']);
  });
  it('to a waitpoint that is resolved is gone', () => {
    for (const end of [signal(1), { type: 'CancelWaitpoint' as const, by: 's1' }, signal(200 * HOUR)]) {
      given(...history(created(), end))
        .when(signal(201 * HOUR))
        .thenRejects('failed_precondition', 'id');
    }
  });
  it('after the deadline marks it expired; one from a spool, taken in before, still wins', () => {
    const late = history(created(), signal(168 * HOUR));
    expect(late.slice(1)).toMatchObject([{ type: 'WaitpointExpired', data: { reported: 0, need: 1, turn: 1 } }]);
    expect(typesOf(history(created(), signal(168 * HOUR, { spooled: true })))).toContain('Fired');
  });
  it('T96 that fills no slot is refused when there are a thousand of them', () => {
    const flood = history(created(), ...Array.from({ length: MOST_SPARE }, () => signal(1, { status: 'progress' })));
    given(...flood)
      .when(signal(2, { status: 'progress' }))
      .thenRejects('resource_exhausted', 'id');
    expect(waitpoint.decide(signal(2), fold(flood)).map(({ type }) => type)).toContain('WaitpointFired');
  });
  it('of a member with any name at all counts for that name', () => {
    const names = ['__proto__', 'constructor', 'arm2'];
    const all = history(created({ need: 3 }), ...names.map((member) => signal(1, { member })));
    expect(firesOf(all)).toHaveLength(1);
  });
});

const fold = (events: At[]) =>
  events.reduce(
    (state, event) =>
      waitpoint.evolve(state, { actor: { kind: 'external', id: 'x' }, workspace: 'w1', version: 1, ...event }),
    waitpoint.initial,
  );

describe('a quorum', () => {
  const two = created({ need: 2, members: ['a', 'b', 'c'], coalesce_ms: 3_000 });
  it('counts a member once, however often it reports', () => {
    const twice = history(two, signal(1, { member: 'a' }), signal(2, { member: 'a' }));
    expect(firesOf(twice)).toEqual([]);
    expect(firesOf(history(two, signal(1, { member: 'a' }), signal(2, { member: 'b' })))).toMatchObject([
      { cause: 'quorum', wake: { at: t(5) } },
    ]);
  });
  it('counts each signal without a name, and names that nobody expected', () => {
    expect(firesOf(history(two, signal(1), signal(2)))).toHaveLength(1);
    expect(firesOf(history(two, signal(1, { member: 'x' }), signal(2, { member: 'y' })))).toHaveLength(1);
  });
  it('is not waited for after the first failure, unless it is to be', () => {
    const failed = [signal(1, { member: 'a', status: 'fail' })];
    expect(firesOf(history(two, ...failed))).toMatchObject([{ cause: 'fail_fast', closes: true }]);
    expect(firesOf(history(created({ need: 2, fail_fast: false }), ...failed))).toEqual([]);
  });
  it('that is met while one fails fires once', () => {
    const met = history(two, signal(1, { member: 'a' }), signal(2, { member: 'b', status: 'fail' }));
    expect(firesOf(met)).toMatchObject([{ cause: 'quorum', fire_no: 1 }]);
    // The third comes within the 3 s: it goes into the same wake and fires nothing.
    const joined = history(two, signal(1, { member: 'a' }), signal(2), signal(4, { member: 'c', status: 'fail' }));
    expect(typesOf(joined)).toEqual(['Created', 'SignalRecorded', 'SignalRecorded', 'Fired', 'SignalRecorded']);
    expect(fold(joined)).toMatchObject({ untold: [{ n: 1 }, { n: 2 }, { n: 3 }] });
  });
  it('P88 keeps its wake pending for a signal that it took in while the wake was on its way', () => {
    const all = history(created({ need: 2, coalesce_ms: 3_000 }), signal(0), signal(1), signal(3), deliver(1, [1, 2]));
    expect(all.at(-1)).toMatchObject({ data: { more: true } });
    expect(fold(all)).toMatchObject({ pending: { turn: 1 }, untold: [{ n: 3 }] });
    expect(fold(history(all[0]!, signal(0), signal(1), signal(3), deliver(1, [1, 2]), deliver(1, [3])))).toMatchObject({
      pending: null,
      untold: [],
    });
  });
  it('takes no signal more once its wake is delivered, or 3 s are over', () => {
    const fired = history(two, signal(1, { member: 'a' }), signal(2, { member: 'b' }));
    given(...fired)
      .when(signal(5))
      .thenRejects('failed_precondition', 'id');
    given(...history(two, signal(1), signal(2), deliver(1, [1, 2])))
      .when(signal(3))
      .thenRejects('failed_precondition', 'id');
  });
});

describe('a mailbox', () => {
  const box = (max_signals: number) => created({ max_signals });
  it('empties its slots at each fire and closes at the last', () => {
    const all = history(box(2), signal(1), deliver(1, [1]), signal(2));
    expect(firesOf(all)).toMatchObject([
      { fire_no: 1, closes: false },
      { fire_no: 2, closes: true },
    ]);
  });
  it('puts fires whose wake is still pending into that one wake', () => {
    const all = history(box(9), signal(1), signal(2));
    expect(firesOf(all)).toMatchObject([{ wake: { turn: 1, joins: false } }, { wake: { turn: 2, joins: true } }]);
    expect(fold(all)).toMatchObject({ wakes: [t(1)], pending: { turn: 2 } });
  });
  it('P88 keeps a wake pending when it fires while the one before is on its way', () => {
    const all = history(box(9), signal(1), signal(2), deliver(1, [1]));
    expect(all.at(-1)).toMatchObject({ data: { more: true } });
    expect(fold(all)).toMatchObject({ pending: { turn: 2 }, untold: [{ n: 2 }] });
  });

  const wakes = (count: number, every: number) =>
    Array.from({ length: count }, (_, i) => [signal(i * every, { max_wakes_per_hour: 3 }), deliver(i + 1)]).flat();
  it('wakes so often within an hour, once more with a warning, and then only records', () => {
    const all = history(box(99), ...wakes(6, 60));
    expect(firesOf(all).map(({ wake }) => wake && wake.warning)).toEqual([false, false, false, true, null, null]);
    expect(all.filter(({ type }) => type === 'WaitpointWakeWithheld')).toMatchObject([
      { data: { wakes_last_hour: 4 } },
      { data: { wakes_last_hour: 4 } },
    ]);
  });
  it('wakes again when the hour has moved on, and warns no second time', () => {
    const later = (s: number) => signal(HOUR + s, { max_wakes_per_hour: 3 });
    const all = history(box(99), ...wakes(5, 60), later(170), deliver(5), later(171));
    expect(firesOf(all).slice(-2)).toMatchObject([{ wake: { warning: false } }, { wake: { warning: false } }]);
    expect(fold(all)).toMatchObject({ pending: { turn: 6 } });
  });
  it('tells its last fire when the hour has moved on, since nothing comes after it', () => {
    const all = history(box(5), ...wakes(5, 60));
    expect(firesOf(all).at(-1)).toMatchObject({ closes: true, wake: { at: t(240 + HOUR) } });
    expect(all.at(-2)).toMatchObject({ type: 'WaitpointWakeWithheld' });
  });
});

describe('expiry, cancel and purge', () => {
  const expire = (seconds: number): WaitpointCommand => ({ type: 'ExpireWaitpoint', at: t(seconds), nonce: 'n' });
  const purge = (seconds: number): WaitpointCommand => ({ type: 'PurgeWaitpoint', at: t(seconds) });
  const cancel: WaitpointCommand = { type: 'CancelWaitpoint', by: 's1' };
  it('expires at its deadline and not before, once, with a notice that says who reported', () => {
    given(created())
      .when(expire(168 * HOUR - 1))
      .thenNothing();
    const all = history(created({ need: 3 }), signal(1), expire(168 * HOUR));
    expect(all.at(-1)).toMatchObject({ type: 'WaitpointExpired', data: { reported: 1, need: 3, turn: 1 } });
    given(...all)
      .when(expire(169 * HOUR))
      .thenNothing();
    given(...history(created(), signal(1)))
      .when(expire(169 * HOUR))
      .thenNothing();
  });
  it('drops the wake that is pending when it is cancelled, and cancels once', () => {
    const cancelled = history(created({ max_signals: 9 }), signal(1), cancel);
    expect(fold(cancelled)).toMatchObject({ status: 'cancelled', pending: null });
    given(...cancelled)
      .when(cancel)
      .thenNothing();
    given(...history(created(), signal(1)))
      .when(cancel)
      .thenNothing();
  });
  it('is kept for 3 days after its end, and for longer while nobody took its wake', () => {
    const done = history(created(), signal(0), deliver(1, [1]));
    given(...done)
      .when(purge(72 * HOUR - 1))
      .thenNothing();
    given(...done)
      .when(purge(72 * HOUR))
      .then({ type: 'WaitpointPurged', data: { waitpoint_id } });
    given(...history(created(), signal(0)))
      .when(purge(99 * HOUR))
      .thenNothing();
    given(created())
      .when(purge(99 * HOUR))
      .thenNothing();
    const purged: At = { type: 'WaitpointPurged', data: { waitpoint_id }, at: t(72 * HOUR) };
    given(...done, purged)
      .when(signal(1))
      .thenRejects('not_found', 'id');
  });
  it('retries a wake ever later, and ends it at the first delivery', () => {
    const fail = (seconds: number): WaitpointCommand => ({ type: 'MarkWakeFailed', at: t(seconds), error: 'away' });
    const failed = history(created(), signal(0), fail(1), fail(100));
    expect(failed.slice(-2)).toMatchObject([
      { data: { attempts: 1, retry_at: t(16) } },
      { data: { attempts: 2, retry_at: t(130) } },
    ]);
    const told = history(created(), signal(0), deliver(1, [1]));
    given(...told)
      .when(deliver(1, [1]))
      .thenNothing();
    given(...told)
      .when(fail(9))
      .thenNothing();
  });
  it('records no more than twenty rejections', () => {
    const reject: WaitpointCommand = { type: 'RejectSignal', reason: 'wrong_secret', source: 'webhook' };
    const all = history(created(), ...Array.from({ length: 25 }, () => reject));
    expect(all.filter(({ type }) => type === 'SignalRejected')).toHaveLength(20);
    expect(fold(all)).toMatchObject({ status: 'armed', n: 0 });
  });
});

describe('clock steps', () => {
  it('back do not hold wakes up: those that lie ahead count for none of the last hour', () => {
    const box = created({ max_signals: 99 });
    const full = Array.from({ length: 4 }, (_, i) => [
      signal(9_000 + i, { max_wakes_per_hour: 3 }),
      deliver(i + 1),
    ]).flat();
    const back = history(box, ...full, signal(10, { max_wakes_per_hour: 3 }));
    expect(firesOf(back).at(-1)).toMatchObject({ wake: { joins: false, warning: false } });
  });
  it('back before its creation neither expire it nor lose a signal', () => {
    given(created())
      .when({ type: 'ExpireWaitpoint', at: t(-9 * HOUR), nonce: 'n' })
      .thenNothing();
    expect(firesOf(history(created(), signal(-9 * HOUR)))).toHaveLength(1);
  });
  it('back within the 3 s still let signals join the wake that is pending', () => {
    const two = created({ need: 2, coalesce_ms: 3_000 });
    expect(fold(history(two, signal(1), signal(2), signal(-500)))).toMatchObject({ untold: [{}, {}, {}] });
  });
  it('forward expire it once, and a step back does not arm it again', () => {
    const all = history(created(), signal(999 * HOUR));
    given(...all)
      .when(signal(1))
      .thenRejects('failed_precondition', 'id');
  });
});

it('folds every stored history', () => {
  expect(foldHistories(waitpoint, new URL('history/', import.meta.url))).toMatchObject({
    '0001-quorum.json': {
      status: 'fired',
      n: 3,
      spare: 1,
      slots: { a: 'ok', b: 'fail' },
      fires: 1,
      turn: 1,
      pending: null,
      untold: [],
      rejected: 1,
    },
    '0002-cancelled-mailbox.json': { status: 'cancelled', fires: 2, warned: true, wakes: [t(1)], pending: null },
    '0003-purged.json': { status: 'purged' },
  });
});
