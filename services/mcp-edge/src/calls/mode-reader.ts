import { restrictionOf } from '../guard/modes.js';
import type { GateViews } from '../guard/views.js';
import type { CatalogTool, ModeReader } from '../seams.js';
import { modeOf } from './gates/mode.gate.js';

/** The mode gate for the tools that tell of tools: what they show as callable is what the gate lets pass. */
export const modeReader = (views: GateViews): ModeReader => ({
  modeOf(caller, args) {
    const text = (name: string): string | undefined => (typeof args[name] === 'string' ? args[name] : undefined);
    const { session } = caller;
    return modeOf(views, caller, {
      workspace: session?.workspace ?? text('workspace_id') ?? null,
      space_id: session?.space_id ?? session?.conversation_id ?? text('space_id'),
      agent_id: session?.agent_id ?? text('agent_id'),
    });
  },
  restriction({ name, announced }: CatalogTool, mode) {
    const found = restrictionOf({ name, builtin: announced.builtin, group: announced.group }, mode);
    return found && `${found.problem}; ${found.fix}`;
  },
});
