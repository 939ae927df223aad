import type { ToolContext } from '@cortex/service-kit';

/** Whose report a call is: of the person, who may stand behind an agent, else of the agent itself. */
export const reporterOf = ({ caller, scope }: Pick<ToolContext, 'caller' | 'scope'>): string =>
  scope.user_id ?? caller.id;
