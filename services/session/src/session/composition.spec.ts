import { describe, expect, it } from '@jest/globals';
import { groupsOf, neededScopes } from './composition.js';

const CORE = ['cortex-core', 'cortex-ext'];
const ASKS = 'cortex-interaction-bridge';

describe('the groups of a direct session', () => {
  it.each([
    ['web:1', true, [...CORE, ASKS, 'cortex-web']],
    ['slack:C1', true, [...CORE, ASKS, 'cortex-slack']],
    ['feishu:oc', true, [...CORE, ASKS, 'cortex-feishu']],
    ['web:1', false, [...CORE, 'cortex-web']],
    ['slack:C1', false, [...CORE, 'cortex-slack']],
    ['cli:1', true, [...CORE, ASKS]],
    ['cli:1', false, CORE],
    ['xweb:1', true, [...CORE, ASKS]],
    ['WEB:1', true, [...CORE, ASKS]],
  ])('of channel %s, started by somebody %s, are %j', (channel, userStarted, groups) => {
    expect(groupsOf({ channel, userStarted })).toEqual(groups);
  });
});

describe('the scopes that a session can need', () => {
  const own = ['mcp:cortex:read', 'mcp:cortex:write'];
  const devices = ['mcp:cortex:devices:read', 'mcp:cortex:devices:write', 'mcp:cortex:devices:exec'];
  it.each([
    [[], null, []],
    [[], 'w1', own],
    [['cortex-ext'], null, own],
    [['cortex-core', 'cortex-ext'], null, [...own, ...devices]],
    [['cortex-core'], 'w1', [...own, ...devices]],
  ])('of groups %j in workspace %s are %j', (groups, workspace, scopes) => {
    expect(neededScopes(groups, workspace)).toEqual(scopes);
  });
  it('T04 are never those of an operator', () => {
    expect(neededScopes(['cortex-core', 'cortex-web'], 'w1')).not.toContain('mcp:cortex:admin');
  });
});
