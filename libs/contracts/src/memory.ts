import type { AgentRole } from './agent.js';

/** What a role may do with a domain; no grant means `read`. */
export const MEMORY_PERMISSIONS = ['none', 'read', 'write'] as const;
export type MemoryPermission = (typeof MEMORY_PERMISSIONS)[number];

/** How a fact came to be known; each weighs differently when two facts contradict each other. */
export const VERACITIES = ['stated', 'inferred', 'tool', 'imported', 'unknown'] as const;
export type Veracity = (typeof VERACITIES)[number];

/** What kind of thing a memory is; each grows old at its own pace. */
export const MEMORY_TYPES = [
  'instruction',
  'commitment',
  'error',
  'goal',
  'decision',
  'preference',
  'fact',
  'relationship',
  'learning',
  'observation',
  'event',
  'context',
  'artifact',
  'request',
  'unknown',
] as const;
export type MemoryType = (typeof MEMORY_TYPES)[number];

/**
 * Events of `memory.domain`. One aggregate holds the domains of one bare name in every scope and the grants on that name,
 * since a grant covers them all; its id is the bare name.
 */
export type DomainEvent =
  | {
      type: 'MemoryDomainCreated';
      /** `domain`: the full slug, `auth-flow` or `repo:acme-api/auth-flow`. `created_by_role`: null for a person. */
      data: { domain: string; label: string; description: string | null; created_by_role: AgentRole | null };
    }
  | {
      type: 'MemoryAccessGranted';
      data: { domain_name: string; role: AgentRole; permission: MemoryPermission };
    };

/** A fact as it was first recorded; when and by whom stands in the envelope too. */
export interface RecordedFact {
  id: string;
  /** Full slug of its domain. */
  domain: string;
  topic: string;
  content: string;
  memory_type: MemoryType;
  veracity: Veracity;
  /** 0 to 1. */
  confidence: number;
  /** An agent's id, or a person's `per_` id. */
  authored_by_agent_id: string;
  /** Null for a person. */
  authored_by_role: AgentRole | null;
  source_observation_ids: string[];
  /** ISO 8601; from then on it is no longer active. */
  valid_until: string | null;
}

/**
 * Events of `memory.fact`. The facts of one domain and topic are one aggregate, so that two writers cannot miss each
 * other's; its id is a hash of both.
 */
export type FactEvent =
  | { type: 'MemoryFactRecorded'; data: { fact: RecordedFact } }
  | {
      type: 'MemoryFactReasserted';
      /** `confidence`, `mention_count`: as they are now. `proposal_id`: of the call that said it again. */
      data: { fact_id: string; confidence: number; mention_count: number; agent_id: string; proposal_id: string };
    }
  | MemoryConflictDetected
  | {
      type: 'MemoryFactSuperseded';
      /** `reason`: `contradiction`, or `tool` when somebody said so. */
      data: { fact_id: string; superseded_by: string; reason: string };
    }
  | {
      type: 'MemoryFactsLinked';
      /** `weight`: how related the two are, 0 to 1. */
      data: { source: string; target: string; weight: number };
    };

/** A contradiction that was settled at once names its loser as `fact_a` and its winner as `fact_b`; an open one has neither. */
export interface MemoryConflictDetected {
  type: 'MemoryConflictDetected';
  data: {
    conflict_id: string;
    fact_a: string;
    fact_b: string;
    type: 'contradiction' | 'cross_agent';
    resolution: 'superseded' | 'obsolete' | null;
    winning_fact: string | null;
  };
}

/** Event of `memory.recall`, one aggregate per search: which facts a search showed. */
export type RecallEvent = { type: 'MemoryFactsRecalled'; data: { fact_ids: string[]; mode: string } };
