/**
 * Flags of Node for whatever runs services. Young objects die young here, so a larger nursery saves more collector time than it costs memory.
 * And none must be born old: with calls in flight at every collection the engine takes what belongs to one call for long-lived, allocates its
 * like in the old generation from then on, and with it everything that it points to lives until the next full collection.
 */
export const NODE_FLAGS = ['--max-semi-space-size=16', '--no-allocation-site-pretenuring'];
