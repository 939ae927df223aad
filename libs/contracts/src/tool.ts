import { z } from 'zod';

/** The closed taxonomy of the guard rail with its built-in decisions. Source: workspace-tools-2, section 2.3. */
export const ACTION_CLASS_DEFAULTS = {
  fileDelete: 'prompt',
  gitPush: 'prompt',
  prCreate: 'prompt',
  prPublish: 'prompt',
  vendorSyncWrite: 'prompt',
  fileWriteOutsideWorktree: 'allow',
  gitCommit: 'allow',
  networkEgress: 'allow',
  secretAccess: 'allow',
  packageInstall: 'allow',
  processSpawn: 'allow',
  workspaceMutation: 'allow',
  enclosureControl: 'allow',
} as const satisfies Record<string, 'prompt' | 'allow'>;
export type ActionClass = keyof typeof ACTION_CLASS_DEFAULTS;
export const ACTION_CLASSES = Object.keys(ACTION_CLASS_DEFAULTS) as ActionClass[];

export type Tier = 'read' | 'write';
export type WorkspaceRule = 'required' | 'optional' | 'none';

/** A tool as its service announces it in `cortex_tools` and as the edge reads it. */
export const AnnouncedTool = z.object({
  name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
  title: z.string(),
  description: z.string(),
  tier: z.enum(['read', 'write']),
  actions: z.array(z.enum(ACTION_CLASSES as [ActionClass, ...ActionClass[]])),
  workspace: z.enum(['required', 'optional', 'none']),
  /** Needs an agent session. */
  session: z.boolean(),
  /** Asks before it runs. */
  approval: z.boolean(),
  /** Capability group of an agent-server tool. */
  group: z.string().optional(),
  /** Scopes beside the tier's; all are needed. */
  scopes: z.array(z.string()),
  /** Built-ins need no scope at all. */
  builtin: z.boolean(),
  /** Its result came from outside. */
  untrusted: z.boolean(),
  deadline_ms: z.number().int().positive(),
  input_schema: z.record(z.string(), z.unknown()),
  output_schema: z.record(z.string(), z.unknown()),
});
export type AnnouncedTool = z.infer<typeof AnnouncedTool>;

/** Value of the key `<service>` in `cortex_tools`, as `packAnnouncement` writes it. */
export const ToolAnnouncement = z.object({ service: z.string(), version: z.string(), tools: z.array(AnnouncedTool) });
export type ToolAnnouncement = z.infer<typeof ToolAnnouncement>;

/** MCP hints follow from tier and classes, so there is no second list. Source: architecture, ruling 8. */
export function hintsOf(tool: { title: string; tier: Tier; actions: readonly ActionClass[] }) {
  const outside: readonly ActionClass[] = ['networkEgress', 'vendorSyncWrite', 'gitPush', 'prCreate', 'prPublish'];
  return {
    title: tool.title,
    readOnlyHint: tool.tier === 'read',
    destructiveHint: tool.actions.some((action) => ACTION_CLASS_DEFAULTS[action] === 'prompt'),
    openWorldHint: tool.actions.some((action) => outside.includes(action)),
  };
}
