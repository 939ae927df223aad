/** What a backend declares and can be poisoned with. */
export const ITEM_KINDS = ['tool', 'prompt', 'template', 'resource'] as const;
export type ItemKind = (typeof ITEM_KINDS)[number];

/** Canonical JSON text of each field that a definition has, by its name; a field that is absent has no member. */
export type DefinitionFields = Readonly<Record<string, string>>;

export interface Definition {
  /** SHA-256 over the fields, 64 hex digits. */
  readonly digest: string;
  readonly fields: DefinitionFields;
  /** SHA-256 over the same as it was written, key order included; empty where nobody saw it written. */
  readonly order: string;
}

/** Who approved a definition, provably: Ed25519 over backend, kind, name, digest and `at`. */
export interface Seal {
  /** ISO 8601. */
  readonly at: string;
  /** Base64. */
  readonly value: string;
}

/** Why an item is held back. `scan:` and the name of a rule for what the scan found. */
export type HoldReason = 'mutated' | 'loosened' | 'reordered' | 'pending' | 'rolled_back' | `scan:${string}`;

/** Which item of the backend; `name` as the backend gives it, the URI of a resource or template. */
interface Named {
  readonly kind: ItemKind;
  readonly name: string;
}

/**
 * Events of `mcp-edge.catalog`, one aggregate per backend: what it declared, and what was approved of it. `approved` = in force from then on;
 * `seal` stands wherever something was approved while a key is configured. Source: gateway, sections 17.7 and 24.1.
 */
export type DefinitionEvent =
  /** Seen the first time, or listed again as it was approved (`returned`, which approves nothing). */
  | {
      type: 'ToolDefinitionAdded';
      data: Named & { definition: Definition; approved: boolean; returned: boolean; seal?: Seal };
    }
  /** `effective`: what is in force of it, with the hints and the scope of before where it asks for less (`held_back` names them). */
  | {
      type: 'ToolDefinitionMutated';
      data: Named & {
        definition: Definition;
        previous: string | null;
        changed: readonly string[];
        approved: boolean;
        effective?: Definition;
        held_back?: readonly string[];
        seal?: Seal;
      };
    }
  | { type: 'ToolDefinitionRemoved'; data: Named }
  | {
      type: 'ToolDefinitionQuarantined';
      data: Named & { digest: string; changed: readonly string[]; reasons: readonly HoldReason[] };
    }
  /** The backend serves what is approved again. */
  | { type: 'ToolDefinitionReverted'; data: Named & { digest: string } }
  | {
      type: 'ToolDefinitionAcknowledged';
      data: Named & { definition: Definition; changed: readonly string[]; by: string; seal?: Seal };
    }
  /** An earlier approved definition is the approved one again. */
  | {
      type: 'ToolDefinitionRolledBack';
      data: Named & { definition: Definition; previous: string | null; by: string; seal?: Seal };
    }
  /**
   * All approvals of the backend end: `signed_baseline` brings others with it, after `start_over` what is served is approved. `until`: the
   * newest that was known elsewhere as decided and is lost here, where a clock was ahead.
   */
  | {
      type: 'ToolBaselineRestarted';
      data: { why: 'start_over' | 'signed_baseline'; by: string; until?: string; seal?: Seal };
    };
