import { describe, expect, it } from '@jest/globals';
import {
  ACTION_CLASSES,
  ALWAYS_ALLOWED,
  MODE_RULES,
  MODES,
  READ_ONLY_DENIES,
  REGISTRY_CLASSES,
  REQUIRES_APPROVAL,
} from '@cortex/contracts';
import { foreignTicket, isExempt, isPinned, restrictionOf } from './modes.js';

const registry = (name: string) => ({ name, builtin: false });

describe('the table of modes', () => {
  it('has the sizes that it was agreed with', () => {
    expect(new Set(ALWAYS_ALLOWED).size).toBe(23);
    expect(new Set(MODE_RULES.plan.allow).size).toBe(16);
    expect(new Set(MODE_RULES.review.allow).size).toBe(33);
    expect(new Set(MODE_RULES.orchestrate.allow).size).toBe(11);
    expect(new Set(REQUIRES_APPROVAL).size).toBe(16);
    expect(READ_ONLY_DENIES).toHaveLength(11);
    expect(ACTION_CLASSES.filter((c) => !READ_ONLY_DENIES.includes(c)).sort()).toEqual([
      'networkEgress',
      'secretAccess',
    ]);
  });
  it('pins what each mode must deliver', () => {
    expect(MODES.map((mode) => MODE_RULES[mode].pinned)).toEqual([
      [],
      ['submit_plan', 'exit_plan_mode'],
      [],
      ['propose_orchestration'],
    ]);
  });
});

describe('the mode gate', () => {
  it('lets every tool pass in chat', () => expect(restrictionOf(registry('create_ticket'), 'chat')).toBeUndefined());
  it('refuses what is not on the list, and says what to do instead', () => {
    expect(restrictionOf(registry('create_ticket'), 'plan')).toEqual({
      problem: 'create_ticket is refused in plan mode, because a plan is written before anything is changed',
      fix: 'finish the plan and call exit_plan_mode',
    });
    expect(restrictionOf(registry('close_ticket'), 'orchestrate')?.fix).toBe('call propose_orchestration once');
    expect(restrictionOf(registry('publish_artifact2'), 'review')?.fix).toBe(
      'finish the review and let the operator act',
    );
  });
  it('lets the three common sets pass in every mode', () => {
    for (const mode of MODES)
      for (const name of ALWAYS_ALLOWED) expect(restrictionOf(registry(name), mode)).toBeUndefined();
  });
  it("lets the agent server's tools and the built-ins pass in every mode", () => {
    for (const mode of MODES) {
      expect(restrictionOf({ name: 'remote_bash', builtin: false, group: 'cortex-core' }, mode)).toBeUndefined();
      expect(restrictionOf({ name: 'whoami', builtin: true }, mode)).toBeUndefined();
    }
  });
  it('refuses a federated tool in every mode but chat', () => {
    for (const mode of MODES) expect(restrictionOf(registry('docs_search'), mode) === undefined).toBe(mode === 'chat');
  });
  it('answers for every registered name in every mode exactly as the table does', () => {
    const names = [
      ...new Set([...Object.keys(REGISTRY_CLASSES), ...REQUIRES_APPROVAL, ...ALWAYS_ALLOWED, 'agent_heartbeat']),
    ];
    for (const mode of MODES)
      for (const name of names) {
        const { allow } = MODE_RULES[mode];
        const listed = allow === null || allow.includes(name) || ALWAYS_ALLOWED.includes(name);
        expect([mode, name, restrictionOf(registry(name), mode) === undefined]).toEqual([mode, name, listed]);
      }
  });
});

it('exempt from the preset is what the mode itself lists, not what every mode lists', () => {
  expect(isExempt('create_ticket', 'review')).toBe(true);
  expect(isExempt('submit_plan', 'plan')).toBe(true);
  expect(isExempt('todo_write', 'plan')).toBe(false);
  expect(isPinned('submit_plan', 'review')).toBe(false);
});

it('plan mode finishes the ticket of the run and no other', () => {
  expect(foreignTicket('close_ticket', 'plan', { ticket_id: 't2' }, 't1')?.fix).toContain('t1');
  expect(foreignTicket('close_ticket', 'plan', { ticket_id: 't1' }, 't1')).toBeUndefined();
  expect(foreignTicket('close_ticket', 'plan', { ticket_id: 't2' }, undefined)).toBeUndefined();
  expect(foreignTicket('close_ticket', 'review', { ticket_id: 't2' }, 't1')).toBeUndefined();
  expect(foreignTicket('get_ticket', 'plan', { ticket_id: 't2' }, 't1')).toBeUndefined();
});
