import { permissionDenied } from '@cortex/contracts';
import { hasScopes } from '../../catalog/visibility.js';
import { RPC } from '../../mcp/envelope.js';
import type { CallContext, Refusal } from '../call-context.js';
import type { GateWorld } from '../gates.js';
import { denied } from '../refusals.js';

/** The scopes that the tool needs, of the token alone. The answer is the challenge of gateway section 10.3. */
export function scopeGate(ctx: CallContext, { settings }: GateWorld): Refusal | undefined {
  const { tool, input } = ctx;
  if (tool === undefined || hasScopes(tool, input.caller)) return undefined;
  const required = tool.required_scopes;
  const granted = [...input.caller.scopes].sort();
  const missing = required.filter((scope) => !input.caller.scopes.has(scope));
  // What a session may do was decided when it was opened; no issuer can add to it.
  const fix = input.caller.session === undefined ? 'get a token with it' : 'open another session with it';
  return {
    ...denied(permissionDenied('scope', `lacks ${missing.join(' and ')}`, fix, { reason: 'refused_by_scope' })),
    rpc: {
      code: RPC.internal,
      message: 'Insufficient scope',
      data: { required, granted },
      status: settings.CORTEX_SCOPE_CHALLENGE === 'http' ? 403 : 200,
      required_scopes: required,
    },
  };
}
