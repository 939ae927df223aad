import { sha256Hex, unavailable } from '@cortex/contracts';
import { defineCommand, defineService } from '@cortex/service-kit';
import { z } from 'zod';

export interface Delivery {
  message_id: string;
  session_id: string;
  channel: string;
  text: string;
  origin: string;
  tag: string;
  workspace: string | null;
}

/** Stands for the session service: takes wakes, once per tag and text, and can be told to be away or to answer nonsense. */
export function sessionStandIn() {
  const inbox: Delivery[] = [];
  const state = { fails: false as false | 'away' | 'nonsense', calls: 0 };
  const deliver = defineCommand({
    name: 'deliver',
    input: z.object({
      session_id: z.string(),
      channel: z.string(),
      text: z.string(),
      origin: z.string(),
      tag: z.string(),
    }),
    handle(args, ctx) {
      state.calls++;
      if (state.fails === 'away') throw unavailable('session', 'is away', 'try again');
      if (state.fails === 'nonsense') return { delivery: 'held' };
      const message_id = sha256Hex(args.tag + args.text).slice(0, 16);
      if (!inbox.some((known) => known.message_id === message_id)) {
        inbox.push({ message_id, workspace: ctx.workspace, ...args });
      }
      return { message_id, delivery: 'held' };
    },
  });
  const service = defineService({ name: 'session', config: z.object({}), tools: [], commands: [deliver] });
  const of = (id: string) => inbox.filter(({ text }) => text.includes(id));
  return { service, inbox, state, of };
}
