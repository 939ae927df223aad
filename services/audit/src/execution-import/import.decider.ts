import type { ExecutionImportEvent } from '@cortex/contracts/execution';
import { defineDecider } from '@cortex/eventstore';

export type ImportCommand = { type: 'NoteImport'; count: number; skipped: number };

/** That the executions of an older installation were taken over: said once, and then never looked for again. */
export const executionImport = defineDecider<ImportCommand, ExecutionImportEvent, { imported: boolean }>({
  subject: 'audit.import',
  initial: { imported: false },
  decide(command, state) {
    switch (command.type) {
      case 'NoteImport': {
        const { count, skipped } = command;
        return state.imported ? [] : [{ type: 'ExecutionsImported', data: { count, skipped } }];
      }
    }
  },
  evolve(_state, { type }) {
    switch (type) {
      case 'ExecutionsImported':
        return { imported: true };
    }
  },
});
