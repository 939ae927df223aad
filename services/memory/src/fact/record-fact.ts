import { conflict, invalidArgument } from '@cortex/contracts';
import type { MemoryType, Veracity } from '@cortex/contracts/memory';
import type { ToolContext } from '@cortex/service-kit';
import type { Kysely } from 'kysely';
import type { Actor } from '../actor.js';
import { domain as domainDecider } from '../domain/domain.decider.js';
import type { DomainSlug } from '../domain/slug.js';
import type { MemoryDb } from '../projections/tables.js';
import { relatedFacts } from '../search/related.js';
import { fact, factsId, type Outcome } from './fact.decider.js';
import { classify } from './memory-types.js';

export interface FactInput {
  slug: DomainSlug;
  topic: string;
  content: string;
  /** Used only when the domain is new. */
  domain_label: string | null;
  domain_description: string | null;
  confidence: number;
  veracity: Veracity;
  /** Told by the words of the content where it is null. */
  memory_type: MemoryType | null;
  valid_until: string | null;
  author: Actor;
}

/**
 * Records a fact: makes its domain when it is new, checks the author's role, then decides among the facts of its topic.
 * Errors: `permission_denied` memory_permission_denied (domain), `invalid_argument` (valid_until), `failed_precondition`
 * (topic), `conflict`.
 */
export async function recordFact(ctx: ToolContext, db: Kysely<MemoryDb>, input: FactInput): Promise<Outcome> {
  const { slug, topic, content, valid_until, author } = input;
  if (valid_until !== null && valid_until <= ctx.now()) {
    throw invalidArgument('valid_until', 'is past', 'give a time to come, or leave it out');
  }
  const id = ctx.newId();
  await ctx.execute(domainDecider, slug.domain_name, {
    type: 'WriteToDomain',
    domain: slug.domain,
    label: input.domain_label,
    description: input.domain_description,
    role: author.role,
  });
  const topicId = factsId(slug.domain, topic);
  await ctx.execute(fact, topicId, {
    type: 'ProposeFact',
    at: ctx.now(),
    fact: {
      id,
      domain: slug.domain,
      topic,
      content,
      memory_type: input.memory_type ?? classify(content),
      veracity: input.veracity,
      confidence: input.confidence,
      authored_by_agent_id: author.id,
      authored_by_role: author.role,
      source_observation_ids: [],
      valid_until,
    },
    related: await relatedFacts(db, { topic, content }, ctx.now()),
  });
  // Out of the aggregate and not of this call's events: a call that is sent again finds what its first try came to.
  const { state } = await ctx.load(fact, topicId);
  const outcome = state.outcomes.find(({ proposal_id }) => proposal_id === id);
  if (outcome) return outcome;
  throw conflict('topic', 'was written to by many others at once', 'see search_memory for what is there now', {
    reason: 'revision_conflict',
  });
}
