import { defineCommand } from '@cortex/service-kit';
import { z } from 'zod';
import { Signals, type Outcome } from '../adapters/signals.js';

/** A POST to the signal route, told in its own words: status and body. Source: agent-server, section 19.1. */
export const signal = defineCommand({
  name: 'signal',
  input: z.object({
    // As it was sent: what is wrong in it is answered as the route says, not as a wrong argument.
    id: z.unknown().optional(),
    secret: z.unknown().optional(),
    status: z.unknown().optional(),
    message: z.unknown().optional(),
    member: z.unknown().optional(),
    data: z.unknown().optional(),
    source: z.literal('webhook'),
    dedupe_key: z.unknown().optional(),
  }),
  async handle({ dedupe_key: key, ...signal }, ctx) {
    const dedupe_key = typeof key === 'string' && key !== '' && key.length <= 300 ? key : undefined;
    return answerOf(await ctx.get(Signals).take({ ...signal, dedupe_key } as Parameters<Signals['take']>[0]));
  },
});

interface Answer {
  http: 202 | 401 | 404 | 410 | 429;
  body: Record<string, unknown>;
}

function answerOf(outcome: Outcome): Answer {
  switch (outcome.is) {
    case 'accepted': {
      const { fired, rate_limited, duplicate } = outcome;
      const body = { accepted: true, fired, ...(rate_limited && { rate_limited }), ...(duplicate && { duplicate }) };
      return { http: 202, body };
    }
    case 'gone': {
      const { state, resolved_at } = outcome;
      return { http: 410, body: { error: `this waitpoint is ${state} already`, state, resolved_at } };
    }
    case 'unknown':
      return { http: 404, body: { error: 'id names no waitpoint; copy it from how_to_signal' } };
    case 'wrong_secret':
      return { http: 401, body: { error: 'secret is not that of this waitpoint; copy it from how_to_signal' } };
    case 'too_many_misses':
      return { http: 429, body: { error: 'too many signals with a wrong id or secret; wait a minute' } };
    case 'too_many_signals':
      return {
        http: 429,
        body: { error: 'this waitpoint has too many signals that count for nothing; send none more' },
      };
  }
}
