import { MEMORY_TYPES } from '@cortex/contracts/memory';
import { defineTool, limit, text } from '@cortex/service-kit';
import { z } from 'zod';
import { actorOf } from '../actor.js';
import { trimmed } from '../arguments.js';
import { findRepo, repoArgument } from '../domain/find-repo.js';
import { parseDomain } from '../domain/slug.js';
import { memory } from '../projections/memory.projection.js';
import { recall } from '../recall/recall.decider.js';
import { readableDomains } from '../search/candidates.js';
import { SEARCH_MODES, searchFacts } from '../search/search.js';

/**
 * Finds active facts of the workspace; rows of domains that the caller's role may not read are left out.
 * Events: MemoryFactsRecalled (mode hybrid, when something was found). Errors: not_found (repo), invalid_argument (domain).
 */
export const searchMemory = defineTool({
  name: 'search_memory',
  title: 'Search the memory',
  description:
    'Finds facts that anybody in the workspace has stored with propose_fact, best first. Use it before you work on something ' +
    'and before you propose a fact. keyword looks for the words alone; hybrid weighs in how new and how certain a fact is.',
  tier: 'read',
  actions: [],
  workspace: 'required',
  input: z.object({
    query: trimmed(1000).describe('What to look for in plain words, 1 to 1000 characters'),
    mode: z.enum(SEARCH_MODES).default('hybrid').describe('Default hybrid'),
    domain: text({ max: 400 })
      .optional()
      .describe('Only this domain: a name stands for it in every scope, a full slug for itself'),
    repo: repoArgument('Its facts come first'),
    limit: limit(10, 50),
  }),
  output: z.object({
    mode: z.enum(SEARCH_MODES),
    facts: z.array(
      z.object({
        id: z.string(),
        domain: z.string().describe('Full slug'),
        domain_name: z.string().describe('Slug without its scope'),
        repo: z.string().nullable().describe('Slug of the repository; null for the whole workspace'),
        topic: z.string(),
        content: z.string(),
        memory_type: z.enum(MEMORY_TYPES),
        confidence: z.number().describe('0 to 1'),
        score: z.number().describe('Compares facts of one search, no more'),
        contested: z.boolean().describe('Part of a contradiction that nobody has settled'),
        contested_by: z.array(z.string()).describe('Ids of the facts that contradict it'),
      }),
    ),
    policies: z.array(z.object({ id: z.string() })).describe('Rules that fit the query'),
    count: z.number().int().describe('Number of facts'),
    degraded: z.array(z.string()).describe('Kinds of search that the mode asks for and that could not run'),
  }),
  async handle({ query, mode, domain, repo, limit: most }, ctx) {
    const db = await ctx.read(memory);
    const first = await findRepo(db, repo);
    const { role } = await actorOf(ctx, db);
    const scope = { now: ctx.now(), domains: await readableDomains(db, domain, role) };
    const found = await searchFacts(db, { query, mode, scope, repo: first, limit: most });
    if (mode === 'hybrid' && found.facts.length > 0) {
      const fact_ids = found.facts.map(({ fact }) => fact.id);
      await ctx.execute(recall, ctx.newId(), { type: 'RecallFacts', fact_ids, mode });
    }
    return {
      mode,
      facts: found.facts.map(({ fact, score }) => ({
        id: fact.id,
        ...parseDomain(fact.domain),
        topic: fact.topic,
        content: fact.content,
        memory_type: fact.memory_type,
        confidence: fact.confidence,
        score: Math.round(score * 1e6) / 1e6,
        contested: false,
        contested_by: [],
      })),
      policies: [],
      count: found.facts.length,
      degraded: found.degraded,
    };
  },
});
