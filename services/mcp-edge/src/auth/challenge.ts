import type { IncomingMessage } from 'node:http';
import type { AuthRefusal } from '@cortex/auth';
import { metadataUrl } from '../http/metadata.js';
import { HttpRefusal, type ResourceKind } from '../seams.js';
import type { Settings } from '../settings.js';

/** Quoted and without what could end the quotes; parts without a value are left out. */
function bearer(parts: Record<string, string | undefined>): string {
  const given = Object.entries(parts).filter(([, value]) => value !== undefined && value !== '');
  return `Bearer ${given.map(([name, value]) => `${name}="${clean(value ?? '')}"`).join(', ')}`;
}
// Header values are latin1, and scopes come from announcements: nothing but visible ASCII may pass.
const clean = (value: string): string => value.replace(/["\\]|[^\x20-\x7e]/g, '');

/** Answers to a request whose token is not enough (gateway, section 10.3). */
export class Challenges {
  constructor(private readonly settings: Settings) {}

  /** 401: no token, or a bad one. */
  unauthorized(req: IncomingMessage, resource: ResourceKind, { refused, description }: AuthRefusal): HttpRefusal {
    const none = refused === 'missing' || refused === 'in_query';
    const error = none ? 'unauthorized' : 'invalid_token';
    return new HttpRefusal(
      401,
      JSON.stringify({ error, error_description: description }),
      {
        'WWW-Authenticate': bearer({
          error: none ? undefined : error,
          error_description: none ? undefined : description,
          scope: this.settings.OAUTH_REQUIRED_SCOPES.join(' '),
          resource_metadata: metadataUrl(this.settings, req, resource),
        }),
      },
      refused,
    );
  }

  /** 403: the token's pool is not the one that this gateway serves. */
  wrongPool(req: IncomingMessage, resource: ResourceKind): HttpRefusal {
    const detail = `This gateway requires pool=${this.settings.CORTEX_REQUIRED_POOL ?? ''}`;
    const challenge = bearer({ resource_metadata: metadataUrl(this.settings, req, resource) });
    const body = JSON.stringify({ error: 'invalid_audience', detail });
    return new HttpRefusal(403, body, { 'WWW-Authenticate': challenge }, 'pool');
  }

  /** 403: a baseline scope is missing. */
  missingBaseline(req: IncomingMessage, resource: ResourceKind): HttpRefusal {
    const required = this.settings.OAUTH_REQUIRED_SCOPES;
    const description = `every request here needs the scopes ${required.join(' ')}`;
    const body = JSON.stringify({ error: 'insufficient_scope', error_description: description });
    return new HttpRefusal(403, body, this.insufficientScope(req, resource, []), 'scope');
  }

  /** Headers of the 403 for one item: baseline and item scopes in one challenge, and no more than these. */
  insufficientScope(
    req: IncomingMessage,
    resource: ResourceKind,
    required: readonly string[],
  ): Readonly<Record<string, string>> {
    const scope = [...new Set([...this.settings.OAUTH_REQUIRED_SCOPES, ...required])].join(' ');
    return {
      'WWW-Authenticate': bearer({
        error: 'insufficient_scope',
        scope,
        resource_metadata: metadataUrl(this.settings, req, resource),
        error_description: required.length > 0 ? `this needs the scopes ${required.join(' ')}` : undefined,
      }),
    };
  }
}
