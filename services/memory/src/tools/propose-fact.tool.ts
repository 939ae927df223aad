import { notFound } from '@cortex/contracts';
import { MEMORY_TYPES, VERACITIES } from '@cortex/contracts/memory';
import { defineTool, text } from '@cortex/service-kit';
import { z } from 'zod';
import { actorArguments, actorOf } from '../actor.js';
import { optionalTrimmed, trimmed } from '../arguments.js';
import { findRepo, repoArgument } from '../domain/find-repo.js';
import { domainSlug } from '../domain/slug.js';
import { recordFact } from '../fact/record-fact.js';
import { memory } from '../projections/memory.projection.js';

/**
 * Stores a fact in a domain, which it makes if it is new. The same content again counts as one more mention; of two facts of
 * a topic that read alike the stronger one stays.
 * Events: MemoryDomainCreated with MemoryAccessGranted per role; MemoryFactRecorded or MemoryFactReasserted;
 * MemoryConflictDetected and MemoryFactSuperseded per contradiction; MemoryFactsLinked per related fact.
 * Errors: permission_denied memory_permission_denied (domain), not_found (repo, agent_id, source_observation_ids),
 * invalid_argument (domain, valid_until), failed_precondition and conflict revision_conflict (topic).
 */
export const proposeFact = defineTool({
  name: 'propose_fact',
  title: 'Propose a fact',
  description:
    'Stores one short fact in markdown, so that everybody in the workspace finds it with search_memory. Search first: to ' +
    'correct a fact, propose the new wording under the same domain and topic, and the stronger one stays. Proposing the same ' +
    'content again is safe and makes it more certain.',
  tier: 'write',
  actions: [],
  workspace: 'required',
  input: z.object({
    domain: text({ max: 200 }).describe(
      'Group of facts, such as "auth flow"; made if it is new. 1 to 64 characters as a slug',
    ),
    topic: trimmed(120).describe('Headline, 1 to 120 characters; facts are compared within their topic'),
    content: trimmed(4000).describe('The fact in markdown, 1 to 4000 characters'),
    domain_label: optionalTrimmed(80).describe('Name of the domain for people, if it is new; at most 80 characters'),
    domain_description: optionalTrimmed(300).describe('What the domain is for, if it is new; at most 300 characters'),
    confidence: z.number().min(0).max(1).default(1).describe('How sure you are, 0 to 1; default 1'),
    veracity: z.enum(VERACITIES).default('stated').describe('How you know it; default stated'),
    memory_type: z.enum(MEMORY_TYPES).optional().describe('What kind of memory it is; told by its words if left out'),
    valid_until: z.iso
      .datetime({ offset: true })
      .optional()
      .describe('ISO 8601 time from which it no longer holds; in the future'),
    source_observation_ids: z.array(z.string()).max(50).default([]).describe('Your own observations that it rests on'),
    repo: repoArgument('Scope of the domain, default the whole workspace'),
    ...actorArguments,
  }),
  output: z.object({
    fact_id: z.string().describe('On duplicate that of the fact which is there already'),
    domain: z.string().describe('Full slug'),
    domain_name: z.string().describe('Slug without its scope'),
    repo: z.string().nullable().describe('Slug of the repository; null for the whole workspace'),
    topic: z.string(),
    memory_type: z.enum(MEMORY_TYPES),
    status: z
      .enum(['proposed', 'duplicate', 'superseded_by_conflict'])
      .describe('superseded_by_conflict: stored, but a stronger fact stays in force'),
    confidence: z.number().describe('0 to 1; a duplicate raises it'),
    conflicts_resolved: z.number().int().optional().describe('Contradictions with other facts that were settled'),
  }),
  async handle(args, ctx) {
    const db = await ctx.read(memory);
    const author = await actorOf(ctx, db, args);
    if (args.source_observation_ids.length > 0) {
      throw notFound('source_observation_ids', 'names no observation of yours', 'leave it out');
    }
    const slug = domainSlug(args.domain, await findRepo(db, args.repo));
    const outcome = await recordFact(ctx, db, {
      slug,
      topic: args.topic,
      content: args.content,
      domain_label: args.domain_label ?? null,
      domain_description: args.domain_description ?? null,
      confidence: args.confidence,
      veracity: args.veracity,
      memory_type: args.memory_type ?? null,
      valid_until: args.valid_until === undefined ? null : new Date(args.valid_until).toISOString(),
      author,
    });
    const { fact_id, topic, memory_type, status, confidence, conflicts_resolved } = outcome;
    return {
      fact_id,
      ...slug,
      topic,
      memory_type,
      status,
      confidence,
      ...(conflicts_resolved > 0 && { conflicts_resolved }),
    };
  },
});
