import { describe, expect, it } from '@jest/globals';
import {
  ACTION_CLASS_DEFAULTS,
  type ActionClass,
  AUTONOMY,
  type GuardRule,
  MODE_RULES,
  MODES,
  REGISTRY_CLASSES,
  REQUIRES_APPROVAL,
} from '@cortex/contracts';
import { type GuardCall, type GuardSituation, recordedSource, resolveGuard } from './resolver.js';

const NOW = Date.parse('2026-01-01T00:00:00Z');
let n = 0;
const rule = (over: Partial<GuardRule>): GuardRule => ({
  id: `r${++n}`,
  workspace_id: 'w',
  scope_type: 'workspace',
  scope_id: 'w',
  decision: 'deny',
  enforcement: 'hard',
  origin: 'manual',
  created_by: 'admin',
  ...(over.command_prefix === undefined && { action_class: 'gitPush' as const }),
  ...over,
});
const call = (over: Partial<GuardCall> = {}): GuardCall => ({
  tool: 't',
  classes: ['gitPush'],
  approval: false,
  facets: {},
  ...over,
});
const at = (over: Partial<GuardSituation> = {}): GuardSituation => ({
  mode: 'chat',
  workspace: 'w',
  agent_id: 'a',
  space_id: 's',
  rules: [],
  managed: [],
  autonomy: 'actWithApproval',
  now: NOW,
  ...over,
});
const decide = (over: Partial<GuardCall>, where: Partial<GuardSituation> = {}) => resolveGuard(call(over), at(where));

describe('rules', () => {
  const space = (over: Partial<GuardRule>) => rule({ scope_type: 'space', scope_id: 's', ...over });
  const agent = (over: Partial<GuardRule>) => rule({ scope_type: 'agent', scope_id: 'a', ...over });
  it('without one the built-in decision holds', () => {
    expect(decide({})).toMatchObject({ decision: 'prompt', source: 'built-in', classes: ['gitPush'] });
    expect(decide({ classes: ['gitCommit'] }).decision).toBe('allow');
  });
  it('the space goes before the agent, the agent before the workspace', () => {
    expect(
      decide({}, { rules: [rule({}), agent({ decision: 'prompt' }), space({ decision: 'allow' })] }).decision,
    ).toBe('allow');
    expect(decide({}, { rules: [rule({ decision: 'allow' }), agent({ decision: 'deny' })] }).decision).toBe('deny');
  });
  it('of another space, agent or workspace count for nothing', () => {
    const others = [space({ scope_id: 'x' }), agent({ scope_id: 'x' }), rule({ scope_id: 'x' })];
    expect(decide({}, { rules: others }).source).toBe('built-in');
  });
  it('a constrained one beats an unconstrained one', () => {
    const rules = [rule({ decision: 'deny' }), rule({ decision: 'allow', constraint: { tools: ['t'] } })];
    expect(decide({}, { rules }).decision).toBe('allow');
    expect(decide({ tool: 'u' }, { rules }).decision).toBe('deny');
  });
  it('of equals the most restrictive wins', () => {
    expect(
      decide({}, { rules: [rule({ decision: 'allow' }), rule({ decision: 'deny' }), rule({ decision: 'prompt' })] })
        .decision,
    ).toBe('deny');
  });
  it('that have expired count for nothing', () => {
    expect(decide({}, { rules: [rule({ decision: 'allow', expires_at: new Date(NOW).toISOString() })] }).source).toBe(
      'built-in',
    );
    expect(
      decide({}, { rules: [rule({ decision: 'allow', expires_at: new Date(NOW + 1).toISOString() })] }).decision,
    ).toBe('allow');
  });
  it('all classes together: the most restrictive wins, and all that prompt are named', () => {
    const verdict = decide({ classes: ['gitPush', 'prCreate', 'gitCommit'] });
    expect(verdict).toMatchObject({ decision: 'prompt', classes: ['gitPush', 'prCreate'] });
    expect(
      decide({ classes: ['gitPush', 'gitCommit'] }, { rules: [rule({ action_class: 'gitCommit' })] }).decision,
    ).toBe('deny');
  });
});

describe('enforcement of a deny', () => {
  it('advisory allows and is recorded', () => {
    const advisory = rule({ action_class: 'gitCommit', enforcement: 'advisory' });
    expect(decide({ classes: ['gitCommit'] }, { rules: [advisory] })).toMatchObject({
      decision: 'allow',
      advisory: [`rule:${advisory.id}`],
    });
  });
  it('advisory does not swallow a prompt of another class', () => {
    const advisory = rule({ action_class: 'gitCommit', enforcement: 'advisory' });
    expect(decide({ classes: ['gitCommit', 'gitPush'] }, { rules: [advisory] }).decision).toBe('prompt');
  });
  it('advisory stands in the record whatever else decides, and once', () => {
    const advisory = rule({ id: 'r1', action_class: 'gitCommit', enforcement: 'advisory' });
    const recorded = (...args: Parameters<typeof decide>) => recordedSource(decide(...args));
    expect(recorded({ classes: ['gitCommit'] }, { rules: [advisory] })).toBe('rule:r1');
    expect(recorded({ classes: ['gitCommit', 'gitPush'] }, { rules: [advisory] })).toBe('built-in advisory:rule:r1');
    expect(recorded({ classes: ['gitCommit', 'gitPush'] }, { rules: [advisory], autonomy: 'actFreely' })).toBe(
      'dial:actFreely advisory:rule:r1',
    );
  });
  it('soft denies and may be lifted, hard may not', () => {
    expect(decide({}, { rules: [rule({ enforcement: 'soft' })] })).toMatchObject({ decision: 'deny', soft: true });
    expect(decide({}, { rules: [rule({ enforcement: 'soft' }), rule({})] })).toMatchObject({
      decision: 'deny',
      soft: false,
    });
  });
});

describe('managed rules', () => {
  const managed = (over: Partial<GuardRule>) => rule({ scope_type: 'managed', scope_id: '*', ...over });
  it('tighten', () => {
    expect(decide({ classes: ['gitCommit'] }, { managed: [managed({ action_class: 'gitCommit' })] })).toMatchObject({
      decision: 'deny',
      source: expect.stringMatching(/^managed:/),
    });
  });
  it('never loosen', () => {
    expect(decide({}, { managed: [managed({ decision: 'allow' })] }).decision).toBe('prompt');
    expect(decide({}, { rules: [rule({})], managed: [managed({ decision: 'allow' })] }).decision).toBe('deny');
  });
});

describe('command rules', () => {
  const cmd = (command_prefix: string, decision: GuardRule['decision']) => rule({ command_prefix, decision });
  const run = (command: string, rules: GuardRule[]) =>
    decide({ classes: ['processSpawn'], facets: { command } }, { rules }).decision;
  it('the longest prefix wins', () =>
    expect(run('git push origin', [cmd('git', 'deny'), cmd('git push', 'prompt')])).toBe('prompt'));
  it('a deny finds its command in every part', () =>
    expect(run('git status && sudo rm -rf x', [cmd('rm', 'deny')])).toBe('deny'));
  it('a longer rule for one part does not hide a shorter one for another', () =>
    expect(run('git status --short; rm x', [cmd('git status --short', 'prompt'), cmd('rm', 'deny')])).toBe('deny'));
  it('an allow counts for a plain command alone', () => {
    const rules = [cmd('git', 'prompt'), cmd('git status', 'allow')];
    expect(run('git status', rules)).toBe('allow');
    expect(run('git status; rm x', rules)).toBe('prompt');
  });
  it('cannot lift what a class decides', () =>
    expect(
      decide({ classes: ['gitPush'], facets: { command: 'git push' } }, { rules: [cmd('git push', 'allow')] }).decision,
    ).toBe('prompt'));
});

describe('every tool, mode, dial and decision', () => {
  const tools = [
    ...new Set([...Object.keys(REGISTRY_CLASSES), ...REQUIRES_APPROVAL, 'submit_plan', 'exit_plan_mode', 'get_ticket']),
  ];
  const decisions = [undefined, 'allow', 'prompt', 'deny'] as const;
  const rank = { allow: 0, prompt: 1, deny: 2 };

  /** The rules of the specification, said again in another way. */
  function expected(tool: string, mode: (typeof MODES)[number], dial: string, ruled: (typeof decisions)[number]) {
    const { pinned, allow, denied_classes } = MODE_RULES[mode];
    if (pinned.includes(tool)) return 'allow';
    const classes: readonly ActionClass[] = REGISTRY_CLASSES[tool] ?? [];
    if (dial === 'proposeOnly' && (classes.length > 0 || REQUIRES_APPROVAL.includes(tool))) return 'deny';
    const each = classes.map((c) => {
      if (ruled !== undefined) return ruled;
      if (denied_classes.includes(c) && !allow?.includes(tool)) return 'deny';
      return ACTION_CLASS_DEFAULTS[c];
    });
    const strictest = each.reduce<'allow' | 'prompt' | 'deny'>((a, b) => (rank[b] > rank[a] ? b : a), 'allow');
    return strictest === 'prompt' && dial === 'actFreely' ? 'allow' : strictest;
  }

  it('is decided as the specification says', () => {
    let cases = 0;
    for (const tool of tools)
      for (const mode of MODES)
        for (const autonomy of AUTONOMY)
          for (const ruled of decisions) {
            const classes = REGISTRY_CLASSES[tool] ?? [];
            const rules =
              ruled === undefined ? [] : classes.map((action_class) => rule({ action_class, decision: ruled }));
            const verdict = decide(
              { tool, classes, approval: REQUIRES_APPROVAL.includes(tool) },
              { mode, autonomy, rules },
            );
            expect([tool, mode, autonomy, ruled, verdict.decision]).toEqual([
              tool,
              mode,
              autonomy,
              ruled,
              expected(tool, mode, autonomy, ruled),
            ]);
            cases++;
          }
    expect(cases).toBe(tools.length * 48);
  });
});
