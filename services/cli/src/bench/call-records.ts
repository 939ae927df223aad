import { CALLS_STREAM } from '@cortex/contracts';
import { jetstreamManager, jetstream } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { asProvisioner, type Ground } from './ground.js';

/** Compares the records of one tool with the answers that were given; each visit has a stream of its own. */
export interface RecordCheck extends AsyncDisposable {
  /** Throws unless every answer has its end on record, and every end a start. */
  compare(target: string, answers: number): Promise<void>;
}

export async function recordCheck(ground: Ground, subject: string): Promise<RecordCheck> {
  const { servers, user, pass } = asProvisioner(ground);
  const nc = await connect({ servers, user, pass, inboxPrefix: `_INBOX_${user}` });
  return {
    async compare(target, answers) {
      const { ToolCallFinished: finished = 0, ToolCallStarted: started = 0 } = await countRecords(nc, subject);
      if (finished !== answers || started < finished) {
        throw new Error(`${target}: ${answers} answers, ${finished} ends and ${started} starts on record`);
      }
    },
    [Symbol.asyncDispose]: () => nc.close(),
  };
}

/** Records of a subject by type; reads the whole stream, about 4 µs a record. */
async function countRecords(nc: NatsConnection, subject: string): Promise<Record<string, number>> {
  const jsm = await jetstreamManager(nc);
  const counts: Record<string, number> = {};
  const { state } = await jsm.streams.info(CALLS_STREAM);
  if (state.messages === 0) return counts;
  const consumer = await jetstream(nc).consumers.get(CALLS_STREAM, { filter_subjects: subject });
  const messages = await consumer.consume({ max_messages: 5_000 });
  for await (const message of messages) {
    const { type } = message.json<{ type: string }>();
    counts[type] = (counts[type] ?? 0) + 1;
    if (message.info.pending === 0) break;
  }
  return counts;
}
