import { text } from '@cortex/service-kit';
import { z } from 'zod';
import { TOKEN_TTL_MAX_S, TOKEN_TTL_S } from '../keys/session-tokens.js';
import { CHANNEL_PREFIXES } from '../session/composition.js';

/** Seconds that a token is to live. */
export const TokenTtl = z
  .number()
  .int('must be whole seconds; give 3600 for an hour')
  .min(1)
  .max(TOKEN_TTL_MAX_S)
  .default(TOKEN_TTL_S)
  .describe(`Seconds that the token lives, 1 to ${TOKEN_TTL_MAX_S}`);

const namesConversation = (channel: string): boolean =>
  CHANNEL_PREFIXES.some((prefix) => channel.startsWith(prefix) && channel.length > prefix.length);

/** `<platform>:<conversation>`. */
export const Channel = text({ max: 200, blank: false })
  .refine(namesConversation, `names no conversation; begin with ${CHANNEL_PREFIXES.join(', ')} and go on with its id`)
  .describe(`Begins with ${CHANNEL_PREFIXES.join(', ')}`);

export const Project = text({ max: 100, blank: false });
