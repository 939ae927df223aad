import { defineTool } from '@cortex/service-kit';
import { z } from 'zod';
import { toldBy } from '../federation/provenance.js';
import { edgeScope } from '../edge-scope.js';
import { accountsOf, type BackendAccount } from './backend-accounts.js';
import { indented, indentedText } from './indented.js';

/**
 * Says who calls, and asks the backends the same. Events: none. Errors: none: a backend that fails says so in its own line.
 * Source: gateway, section 16.1.
 */
export const whoami = defineTool({
  name: 'whoami',
  title: 'Who am I',
  description:
    'Tells who you are to this server: identity, client, granted scopes, and what each connected backend says of you. ' +
    'Call it first when a tool is missing or refused. Safe to repeat.',
  tier: 'read',
  actions: [],
  workspace: 'none',
  builtin: true,
  input: z.object({}),
  output: z.object({
    identity: z.object({
      sub: z.string().describe('Subject at the issuer'),
      person_id: z
        .string()
        .nullable()
        .describe('How events name you; of an agent the person that its session belongs to, null where it is nobody’s'),
      email: z.string().describe('Empty when the token does not name one, like the next two'),
      pool: z.string(),
      role: z.string(),
    }),
    session: z.object({
      client_id: z.string().describe('The client that the token was issued to'),
      audience: z.string(),
      issuer: z.string(),
      jti: z.string().nullable().describe('Id of the token'),
      is_dev_bypass: z.boolean(),
    }),
    scopes_granted: z.array(z.string()).describe('Those that broader ones imply among them; sorted'),
    backends: z
      .array(
        z.looseObject({
          app_id: z.string().describe('Id of the backend'),
          healthy: z.boolean(),
        }),
      )
      .describe(
        'Connected backends of which you hold a scope, each with what it says of you, or with the error that kept it from that',
      ),
    discovered_at: z.string().describe('When the backends were last asked what they offer, ISO 8601'),
  }),
  async handle(_args, ctx) {
    const scope = edgeScope(ctx);
    const { caller, catalog, federation } = scope;
    const { sub, person_id, email, pool, role, client_id, audience, issuer, jti } = caller;
    const accounts = await accountsOf(scope, ctx);
    const answer = (backends: BackendAccount['known'][]) => ({
      identity: { sub, person_id, email, pool, role },
      session: { client_id, audience, issuer, jti, is_dev_bypass: caller.dev_bypass },
      scopes_granted: [...caller.scopes].sort(),
      backends,
      discovered_at: federation.refreshedAt ?? catalog.changed_at,
    });
    const whole = answer(accounts.map(({ known, said }) => ({ ...known, ...said })));
    if (caller.session === undefined) return indented(whole);
    // What a backend says stands in an agent's prompt only where it is seen whose words they are.
    const fenced = accounts.flatMap(({ backend, said }) =>
      said === undefined ? [] : [toldBy(backend, caller)(indentedText(said))],
    );
    return indented(whole, [indentedText(answer(accounts.map(({ known }) => known))), ...fenced]);
  },
});
