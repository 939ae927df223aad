/** Domains that Cortex itself writes to: named by it, whoever uses one first. */
export const SYSTEM_DOMAINS: ReadonlyMap<string, { label: string; description: string }> = new Map([
  ['decisions', { label: 'Decisions', description: 'What was decided, and why' }],
  ['ticket-outcomes', { label: 'Ticket outcomes', description: 'How tickets ended' }],
  ['pr-reviews', { label: 'Pull request reviews', description: 'What reviews of pull requests found' }],
  [
    'review-suppressions',
    { label: 'Review suppressions', description: 'Findings that reviews are not to raise again' },
  ],
  ['review-guidelines', { label: 'Review guidelines', description: 'What reviews are to look at' }],
  ['orchestration', { label: 'Orchestration', description: 'How work was split up' }],
]);

/** Its facts are kept side by side: two dismissed findings that read alike do not contradict each other. */
export const WITHOUT_CONFLICTS = 'review-suppressions';
