import { notFound, unavailable } from '@cortex/contracts';
import { describe, expect, it } from '@jest/globals';
import { answerOf } from './faults.js';
import { createLog } from './log.js';

const log = createLog('silent');
const coded = (code: string, message = 'x') => Object.assign(new Error(message), { code });
const answer = (error: unknown) => answerOf(error, 'call-1', log);

describe('what a caller learns of an error', () => {
  it('is our own error, text and all', () => {
    expect(answer(notFound('id', 'is unknown', 'see the list'))).toMatchObject({
      message: 'id is unknown; see the list',
    });
    expect(answer(unavailable('bus', 'is away', ''))).toMatchObject({ kind: 'unavailable', message: 'bus is away' });
  });

  it.each([
    [coded('57P03'), 'the database cannot be reached; try again in a moment'],
    [coded('08006'), 'the database cannot be reached; try again in a moment'],
    [new Error('Connection terminated unexpectedly'), 'the database cannot be reached; try again in a moment'],
    [coded('ECONNREFUSED'), 'a server that it needs cannot be reached; try again in a moment'],
  ])('is unavailable when a server is away: %s', (error, message) =>
    expect(answer(error)).toMatchObject({ kind: 'unavailable', retryable: true, message }),
  );

  it.each([
    coded('23505', 'duplicate key value violates "people_pk" (token=hunter2)'),
    coded('42P01', 'relation "secret_table" does not exist'),
    new TypeError("Cannot read 'hunter2'"),
    'a string',
    undefined,
    { kind: 'not_found', message: 'dressed up' },
  ])('is nothing but the call id for all else: %s', (error) =>
    expect(answer(error)).toEqual({
      kind: 'internal',
      message: 'something broke inside Cortex (call call-1); report the call id to the operator',
      retryable: false,
    }),
  );
});
