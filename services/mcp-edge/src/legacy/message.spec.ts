import { describe, expect, it } from '@jest/globals';
import { Flights } from './flights.js';
import { readMessage, responseBytes } from './message.js';
import { negotiate, revisionOf } from './revision.js';

describe('a message', () => {
  const rpc = (rest: object) => readMessage({ jsonrpc: '2.0', ...rest });

  it('P19 with an id of null is refused, never a notification', () =>
    expect(rpc({ id: null, method: 'tools/list' })).toMatchObject({ kind: 'invalid' }));

  it.each([[[]], ['x'], [42], [null], [true]])('P23 is no %j', (value) =>
    expect(readMessage(value)).toMatchObject({ kind: 'invalid' }),
  );

  it('P23 whose method begins with notifications/ is a request when it has an id', () =>
    expect(rpc({ id: 1, method: 'notifications/initialized' })).toMatchObject({ kind: 'request' }));

  it.each([1.5, true, {}, [], Number.MAX_SAFE_INTEGER + 1])('has no id like %j', (id) =>
    expect(rpc({ id, method: 'ping' })).toMatchObject({ kind: 'invalid' }),
  );

  it('without a method is an answer to a request of ours, if it answers at all', () => {
    expect(rpc({ id: 1, result: {} })).toMatchObject({ kind: 'response', message: { id: 1, result: {} } });
    expect(rpc({ id: 1 })).toMatchObject({ kind: 'invalid', id: 1 });
  });

  it('names its version and has an object for params', () => {
    expect(readMessage({ id: 7, method: 'ping' })).toMatchObject({ kind: 'invalid', id: 7 });
    expect(rpc({ id: 7, method: 'ping', params: [1] })).toMatchObject({ kind: 'invalid', id: 7 });
  });
});

describe('P16 the ids 1 and "1"', () => {
  it('come back with their type', () => {
    expect(responseBytes(1, { result: Buffer.from('{}') }).toString()).toBe('{"jsonrpc":"2.0","id":1,"result":{}}');
    expect(responseBytes('1', { error: { code: -1, message: 'x' } }).toString()).toBe(
      '{"jsonrpc":"2.0","id":"1","error":{"code":-1,"message":"x"}}',
    );
  });

  it('are two flights, and of two sessions four', () => {
    const flights = new Flights();
    const begun = [flights.begin('a', 1), flights.begin('a', '1'), flights.begin('b', 1), flights.begin('b', '1')];
    expect(new Set(begun).size).toBe(4);
    expect(flights.begin('a', 1)).toBeNull();
    flights.cancel('a', 1);
    expect(begun.map((flight) => flight?.cancelled)).toEqual([true, false, false, false]);
    flights.end('a', 1);
    expect(flights.begin('a', 1)).not.toBeNull();
  });
});

describe('the revision', () => {
  it('is the client’s where we know it, else the newest of the era', () => {
    expect(negotiate('2025-03-26', '2025-11-25')).toBe('2025-03-26');
    expect(negotiate('2026-07-28', '2025-11-25')).toBe('2025-11-25');
  });

  it('of a request is its session’s, else the header’s, else the one that knew no header', () => {
    expect(revisionOf('2025-06-18', '2025-11-25')).toBe('2025-11-25');
    expect(revisionOf('2025-06-18', undefined)).toBe('2025-06-18');
    expect(revisionOf(undefined, undefined)).toBe('2025-03-26');
    expect(revisionOf('1999-01-01', '2025-11-25')).toBeNull();
  });
});
