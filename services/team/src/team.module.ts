import { defineService, ServiceKit } from '@cortex/service-kit';
import { Module } from '@nestjs/common';
import { removeGuardRule } from './commands/remove-guard-rule.js';
import { setApprovalMode } from './commands/set-approval-mode.js';
import { setAutonomy } from './commands/set-autonomy.js';
import { setGuardRule } from './commands/set-guard-rule.js';
import { setMember } from './commands/set-member.js';
import { upsertWorkspace } from './commands/upsert-workspace.js';
import { config } from './config.js';
import { migrations } from './projections/tables.js';
import { workspaces as workspacesView } from './projections/workspaces.projection.js';
import { workspace } from './queries/workspace.js';
import { workspaces } from './queries/workspaces.js';
import { tools } from './tools/registry.js';

export const teamService = defineService({
  name: 'team',
  config,
  tools,
  queries: [workspaces, workspace],
  commands: [upsertWorkspace, setMember, setApprovalMode, setGuardRule, removeGuardRule, setAutonomy],
  projections: [workspacesView],
  migrations,
});

@Module({ imports: [ServiceKit.forService(teamService)] })
export class TeamModule {}
