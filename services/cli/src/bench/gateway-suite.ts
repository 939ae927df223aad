import { directTarget, gatewayTarget, proxyTarget } from './gateway-targets.js';
import { MANY, manyTools } from './many-tools.js';
import { CONNECTIONS, goal, JUDGED, type Suite } from './suite.js';

const PROXY = 'proxy';
const GATEWAY_TARGET = 'gateway';
const LONG = 'gateway-2000';

/** What a call of a backend's tool costs through Cortex, beside the backend itself and a bare hop in front of it. */
export const GATEWAY: Suite = {
  name: 'gateway',
  what: 'tools of a backend, over HTTP',
  targets: [
    ...[
      directTarget('direct', '(a) the backend itself'),
      proxyTarget(PROXY, '(b) a bare undici hop in front of it that parses the request'),
      gatewayTarget({
        name: GATEWAY_TARGET,
        what: '(c) Cortex in front of it: token, scopes, integrity, durable record, traces',
      }),
    ].map((target) => ({ target, at: CONNECTIONS })),
    {
      target: gatewayTarget({ name: LONG, what: `the backend has ${MANY} tools instead of 1`, tools: MANY }),
      at: [16],
      full: true as const,
    },
  ],
  scenarios: [manyTools],

  pairs: (measured) =>
    measured
      .filter((name) => name !== GATEWAY_TARGET)
      .map((name) => (name === LONG ? [name, GATEWAY_TARGET] : [GATEWAY_TARGET, name])),

  goals({ ratios }) {
    const hop = (n: number) => ratios.find(({ floor, connections }) => floor === PROXY && connections === n);
    const long = ratios.find(({ target }) => target === LONG);
    return [
      ...JUDGED.map((n) =>
        goal(`requests/s against the hop, ${n} connections`, hop(n)?.requests_per_s, 'at least', 0.5),
      ),
      goal('p50 against that of the hop, 1 connection', hop(1)?.p50, 'at most', 2.5),
      goal(`CPU per call with ${MANY} tools against 1`, long?.cpu, 'at most', 1.05),
    ];
  },
};
