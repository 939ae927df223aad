import { defineCommand } from '@cortex/service-kit';
import { z } from 'zod';
import { ALL, workspace } from '../workspace/workspace.decider.js';
import { WorkspaceArgument } from './in-workspace.js';

/** Makes a workspace, or gives one that is there another name. Events: WorkspaceCreated, WorkspaceRenamed or none. */
export const upsertWorkspace = defineCommand({
  name: 'upsert_workspace',
  input: z.object({ workspace_id: WorkspaceArgument, name: z.string().trim().min(1).max(200).normalize('NFC') }),
  async handle({ workspace_id, name }, ctx) {
    await ctx.execute(workspace, ALL, { type: 'UpsertWorkspace', name }, { workspace: workspace_id });
    return { workspace_id, name };
  },
});
