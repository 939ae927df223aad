import type { DefinitionEvent } from '@cortex/contracts/definition';

/** A line of the log about one event. */
export interface Line {
  readonly level: 'debug' | 'info' | 'warn';
  readonly fields: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** What the log says of a change, or of what was decided about it. Source: gateway, section 17.7. */
export function lineOf(backend: string, { type, data }: DefinitionEvent, mode: 'warn' | 'block'): Line {
  const base = { event: type, backend, ...('name' in data && { kind: data.kind, item: data.name }) };
  const who = 'name' in data ? `${backend}/${data.name}` : backend;
  const line = (level: Line['level'], text: string, more: object = {}): Line => ({
    level,
    fields: { ...base, ...more },
    text,
  });
  switch (type) {
    case 'ToolDefinitionMutated': {
      const text = `changed: ${who}(${data.changed.join('+')}), mode ${mode}, ${data.approved ? 'served' : 'held back'}`;
      return line('warn', text, { digest: data.definition.digest, held_back: data.held_back });
    }
    case 'ToolDefinitionQuarantined':
      return line('warn', `quarantined: ${who}: ${data.reasons.join(', ')}`, { digest: data.digest });
    case 'ToolDefinitionAcknowledged':
      return line('info', `acknowledged: ${who} by ${data.by}`, { by: data.by, changed: data.changed });
    case 'ToolDefinitionRolledBack':
      return line('warn', `rolled back: ${who} by ${data.by}`, { by: data.by });
    case 'ToolBaselineRestarted':
      return line('warn', `the baseline of ${who} was begun anew by ${data.by}`, { by: data.by });
    case 'ToolDefinitionReverted':
      return line('info', `quarantine lifted: ${who} is as it was approved again`);
    case 'ToolDefinitionAdded':
      return line('debug', `added: ${who}`);
    case 'ToolDefinitionRemoved':
      return line('debug', `removed: ${who}`);
  }
}
