import type { TicketKeysEvent } from '@cortex/contracts/ticket';
import { foldHistories } from '@cortex/testing/fold-histories';
import { specFor } from '@cortex/testing/spec-for';
import { describe, expect, it } from '@jest/globals';
import { keys, type KeysCommand } from './keys.decider.js';

const given = specFor(keys);
const reserve = (ticket_id: string): KeysCommand => ({ type: 'ReserveKey', ticket_id });
const reserved = (number: number, ticket_id = `t${number}`): TicketKeysEvent => ({
  type: 'TicketKeyReserved',
  data: { ticket_id, number, key: `T-${number}` },
});

describe('the keys of a workspace', () => {
  it('begin with 1', () => given().when(reserve('t1')).then(reserved(1)));
  it('count up', () => given(reserved(1), reserved(2)).when(reserve('t3')).then(reserved(3)));
  it('are reserved once per ticket', () => given(reserved(1), reserved(2)).when(reserve('t1')).thenNothing());
  it('are no longer looked for behind a hundred others: the repeat gets a new one, and no two ever the same', () => {
    const many = Array.from({ length: 101 }, (_, n) => reserved(n + 1));
    given(...many)
      .when(reserve('t2'))
      .thenNothing();
    given(...many)
      .when(reserve('t1'))
      .then(reserved(102, 't1'));
  });
});

it('folds what earlier releases wrote', () => {
  expect(foldHistories(keys, new URL('history/', import.meta.url))).toEqual({
    '0001-first.json': {
      last: 2,
      recent: [
        { ticket_id: '019b5f2e-0000-7000-8000-000000000001', key: 'T-1' },
        { ticket_id: '019b5f2e-0000-7000-8000-000000000002', key: 'T-2' },
      ],
    },
  });
});
