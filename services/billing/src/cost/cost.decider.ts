import { hashedToken } from '@cortex/contracts';
import type { CostEvent } from '@cortex/contracts/cost';
import { defineDecider } from '@cortex/eventstore';

export type CostCommand = { type: 'RecordCost'; entry: CostEvent['data'] };
type State = { status: 'none' } | { status: 'recorded'; entry_id: string; cost_usd: number | null };

/** One aggregate per key of a session: that it was counted is known for as long as the log is kept, and costs nobody memory. */
export const costId = (session_id: string, key: string): string => hashedToken(JSON.stringify([session_id, key]));

/** One record of spending, recorded once: the first one stands, whatever comes under its key later. */
export const cost = defineDecider<CostCommand, CostEvent, State>({
  subject: 'billing.cost',
  initial: { status: 'none' },
  decide(command, state) {
    switch (command.type) {
      case 'RecordCost':
        return state.status === 'none' ? [{ type: 'CostRecorded', data: command.entry }] : [];
    }
  },
  evolve(_state, { type, data }) {
    switch (type) {
      case 'CostRecorded':
        return { status: 'recorded', entry_id: data.entry_id, cost_usd: data.cost_usd };
    }
  },
});
