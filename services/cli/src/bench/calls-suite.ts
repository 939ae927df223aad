import { cortexTarget } from './cortex-target.js';
import { listFloor } from './list-floor.js';
import { readYourWrites } from './read-your-writes.js';
import { rebuildRate } from './rebuild-rate.js';
import { CONNECTIONS, goal, JUDGED, type Suite } from './suite.js';
import { FLOORS } from './targets.js';
import { waitpoints } from './waitpoints.js';

const CORTEX = 'cortex';
const LIST = 'cortex-list';
const LONG_CATALOG = 'cortex-200-tools';
/** More than the catalog will have. */
const LISTED = 200;

/** What a call of a service's tool costs, and a list of own tools. */
export const CALLS: Suite = {
  name: 'calls',
  what: 'tools of services, over the bus',
  targets: [
    ...[
      ...FLOORS,
      cortexTarget({ name: CORTEX, what: '(c) through the edge to a tool of a service, everything on' }),
    ].map((target) => ({ target, at: CONNECTIONS })),
    { target: listFloor('bytes', `a bare server of the bytes of a list of ${LISTED} tools`, LISTED), at: JUDGED },
    {
      target: cortexTarget({ name: LIST, what: `(d) tools/list of ${LISTED} tools`, tools: LISTED, list: true }),
      at: JUDGED,
    },
    // What changes the cost of a call, against the call as it is.
    ...[
      cortexTarget({ name: LONG_CATALOG, what: '200 tools in the catalog instead of 1', tools: 200 }),
      cortexTarget({ name: 'cortex-16-kib', what: 'a reply of 16 KiB instead of 1', times: 16 }),
      cortexTarget({ name: 'cortex-no-traces', what: 'no call is sampled', env: { CORTEX_TRACE_SAMPLE: '0' } }),
      cortexTarget({ name: 'cortex-all-traces', what: 'every call is sampled', env: { CORTEX_TRACE_SAMPLE: '1' } }),
    ].map((target) => ({ target, at: [16], full: true as const })),
  ],
  scenarios: [rebuildRate, readYourWrites, waitpoints],
  weighedWith: CORTEX,

  /** Cortex against its floors, its list against the list's, and its variants against Cortex as it is. */
  pairs: (measured) =>
    measured
      .filter((name) => name !== CORTEX && name !== LIST)
      .map((name) => (name === 'bytes' ? [LIST, name] : name.startsWith(CORTEX) ? [name, CORTEX] : [CORTEX, name])),

  goals: ({ rows, ratios, atRest }) => [
    ...JUDGED.flatMap((n) => {
      const against = (floor: string) => ratios.find((r) => r.floor === floor && r.connections === n)?.requests_per_s;
      const own = rows.find((row) => row.target === CORTEX && row.connections === n);
      return [
        goal(`requests/s against hop, ${n} connections`, against('hop'), 'at least', 0.9),
        goal(`requests/s against hop-own, ${n} connections`, against('hop-own'), 'at least', 0.6),
        goal(`tools/list against the same bytes, ${n} connections`, against('bytes'), 'at least', 0.7),
        goal(`edge CPU per call in µs, ${n} connections`, own?.cpu_us, 'at most', 100),
        goal(`edge memory under load in MiB, ${n} connections`, own?.resident_mib, 'at most', 260),
      ];
    }),
    goal('CPU per call with 200 tools against 1', ratios.find((r) => r.target === LONG_CATALOG)?.cpu, 'at most', 1.05),
    goal('memory at rest of all that up starts, in MiB', atRest?.total_mib, 'at most', 600),
  ],
};
