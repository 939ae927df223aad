import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { defineService, defineTool } from '@cortex/service-kit';
import { eventually } from '@cortex/testing';
import { z } from 'zod';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';

const asked: { question: string; resume: boolean }[] = [];
const answers = new Map<string, string>();
/** A question of which the answer is an event: it is looked up in what stands for the state, and waited for while it is not there. */
const ask = defineTool({
  name: 'sample_question',
  title: 'Ask',
  description: 'Waits for an answer.',
  tier: 'write',
  actions: [],
  workspace: 'none',
  input: z.object({ question: z.string(), poll_ms: z.number().optional(), within_ms: z.number().default(10_000) }),
  output: z.object({ answer: z.string() }),
  handle({ question, poll_ms, within_ms }, ctx) {
    asked.push({ question, resume: ctx.resume });
    const answer = answers.get(question);
    if (answer !== undefined) return { answer };
    if (ctx.resume && poll_ms === undefined && within_ms < 1_000) return { answer: 'nobody answered' };
    const until = new Date(Date.now() + within_ms).toISOString();
    return ctx.wait({
      subject: `cortex.evt.ticket._.question.${question}`,
      after: 0,
      until,
      ...(poll_ms !== undefined && { poll_ms }),
    });
  },
});

let edge: EdgeFixture;
beforeAll(async () => {
  const service = defineService({ name: 'ticket', config: z.object({}), tools: [ask] });
  edge = await startEdge({ beside: [service], env: { CORTEX_SSE_KEEPALIVE_MS: '500' } });
});
afterAll(async () => edge[Symbol.asyncDispose]());

async function answered(question: string, answer: string): Promise<void> {
  answers.set(question, answer);
  const bus = await edge.nats.busAs('ticket');
  await bus.publishAcked(`cortex.evt.ticket._.question.${question}`, '{}');
}
const tries = (question: string) => asked.filter((entry) => entry.question === question);

it('a call that waits ends with the event, in one more try', async () => {
  const call = edge.call('sample_question', { question: 'q1' });
  await eventually(() => tries('q1').length === 1);
  await answered('q1', 'yes');
  expect((await call).body.result.structuredContent).toEqual({ answer: 'yes' });
  expect(tries('q1').map(({ resume }) => resume)).toEqual([false, true]);
  expect(await edge.finished({ tool: 'sample_question', outcome: 'succeeded' })).toBeDefined();
});

it('an event that came before the wait began is not missed', async () => {
  const question = 'q2';
  const bus = await edge.nats.busAs('ticket');
  await bus.publishAcked(`cortex.evt.ticket._.question.${question}`, '{}');
  const call = edge.call('sample_question', { question });
  await eventually(() => tries(question).length > 1);
  answers.set(question, 'late');
  expect((await call).body.result.structuredContent).toEqual({ answer: 'late' });
});

it('at the end of the wait the service is asked in any case', async () => {
  const { body } = await edge.call('sample_question', { question: 'q3', within_ms: 200 });
  expect(body.result.structuredContent).toEqual({ answer: 'nobody answered' });
});

it('a poll tells the service that its caller is still there', async () => {
  const call = edge.call('sample_question', { question: 'q4', poll_ms: 100 });
  await eventually(() => tries('q4').length >= 4);
  await answered('q4', 'yes');
  expect((await call).body.result.structuredContent).toEqual({ answer: 'yes' });
});

it('a caller that goes ends the wait', async () => {
  const gone = new AbortController();
  const call = edge.call('sample_question', { question: 'q5', poll_ms: 100 }, { signal: gone.signal });
  await eventually(() => tries('q5').length >= 2);
  gone.abort();
  await expect(call).rejects.toMatchObject({ name: 'AbortError' });
  await edge.finished({ tool: 'sample_question', outcome: 'cancelled' });
  const before = tries('q5').length;
  // As long as somebody else's wait takes for three polls.
  const other = edge.call('sample_question', { question: 'q5b', poll_ms: 100 });
  await eventually(() => tries('q5b').length >= 4);
  await answered('q5b', 'yes');
  await other;
  expect(tries('q5')).toHaveLength(before);
});

it('a wait that lasts turns into an event stream with comments, and ends with the answer', async () => {
  edge.edge.long.afterMs = 200;
  let seen = '';
  const call = edge.call('sample_question', { question: 'q6' }, { onText: (text) => void (seen = text) });
  await eventually(() => seen.includes(': keepalive'));
  await answered('q6', 'at last');
  const { headers, text, body } = await call;
  expect(headers.get('content-type')).toBe('text/event-stream');
  expect(text).toMatch(/^(: keepalive\n\n)+event: message\ndata: \{"jsonrpc":"2.0","id":1,"result":.*\n\n$/s);
  expect(body.result.structuredContent).toEqual({ answer: 'at last' });
});
