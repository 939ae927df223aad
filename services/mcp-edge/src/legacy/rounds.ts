import type { Cancellation, ClientSaid, LegacyRevision } from '../seams.js';
import type { Json } from './message.js';
import { type ClientAnswer, paramsIn } from './questions.js';

/** Source: gateway, section 5.3. */
const MAX_ROUNDS = 8;

/** What a backend wants to know, by its own keys, and its state until then. */
export interface Asked {
  readonly inputRequests?: Readonly<Record<string, { method: string; params?: Json }>>;
  readonly requestState?: string;
}
export type Ask = (method: string, params: Json) => Promise<ClientAnswer>;

/** Why a request that needs input cannot go on; a sentence for the model. */
export class NoInput extends Error {}

/**
 * Runs a request until its backend asks nothing more: each question goes to the client as a request of its own, since these revisions know no
 * other way. Throws NoInput where the client does not answer.
 */
export async function inRounds<T>(
  client: ClientSaid,
  { revision, ask, cancel }: { revision: LegacyRevision; ask: Ask | undefined; cancel: Cancellation },
  run: (client: ClientSaid) => Promise<T>,
  askedBy: (outcome: T) => Asked | undefined,
): Promise<T> {
  let said = client;
  for (let round = 0; ; round++) {
    const outcome = await run(said);
    const asked = askedBy(outcome);
    if (asked === undefined) return outcome;
    if (ask === undefined) throw new NoInput('needs input, and there is no stream to ask for it on');
    if (round === MAX_ROUNDS) throw new NoInput(`asked for input more than ${MAX_ROUNDS} times`);
    const { inputRequests = {}, requestState } = asked;
    const answering = Promise.all(
      Object.entries(inputRequests).map(async ([key, { method, params = {} }]) => {
        const written = paramsIn(revision, method, params);
        if (written === undefined) throw new NoInput(`asks for a choice of several, which ${revision} does not know`);
        const answer = await ask(method, written);
        if ('problem' in answer) throw new NoInput(`needs input, and the client ${answer.problem}`);
        return [key, answer.result] as const;
      }),
    );
    const answers = await unlessCancelled(cancel, answering);
    said = {
      ...client,
      input_responses: Object.fromEntries(answers),
      ...(requestState !== undefined && { request_state: requestState }),
    };
  }
}

function unlessCancelled<T>(cancel: Cancellation, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    cancel.onCancel = reject;
    work.then(resolve, reject).finally(() => (cancel.onCancel = undefined));
  });
}
