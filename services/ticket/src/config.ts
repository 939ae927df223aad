import { transportVerdict } from '@cortex/contracts/transport-policy';
import { flag } from '@cortex/service-kit/flag';
import { z } from 'zod';

export const config = z
  .object({
    /** Where a new blocking ticket about a missing capability is told; unset: nowhere. */
    CORTEX_TICKET_WEBHOOK_URL: z.string().min(1).optional(),
    /** Key of the signature that goes along. */
    CORTEX_TICKET_WEBHOOK_SECRET: z.string().min(1).optional(),
    /** Allows http to another machine. */
    CORTEX_ALLOW_INSECURE_BACKENDS: flag(false),
  })
  .superRefine((env, ctx) => {
    const { CORTEX_TICKET_WEBHOOK_URL: url, CORTEX_TICKET_WEBHOOK_SECRET: secret } = env;
    const fault = (path: keyof typeof env, message: string): void =>
      ctx.addIssue({ code: 'custom', path: [path], message });
    if (url === undefined) {
      if (secret !== undefined)
        fault('CORTEX_TICKET_WEBHOOK_SECRET', 'signs nothing without CORTEX_TICKET_WEBHOOK_URL; set both or neither');
      return;
    }
    const verdict = transportVerdict(url, env.CORTEX_ALLOW_INSECURE_BACKENDS);
    if (!verdict.allowed) fault('CORTEX_TICKET_WEBHOOK_URL', verdict.problem);
  });
export type Config = z.output<typeof config>;
