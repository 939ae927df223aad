import { expect, it } from '@jest/globals';
import { Catalog } from '../catalog/catalog.js';
import { configuredBackends } from './backends.js';
import { readTools } from './declarations.js';
import { FederatedOffer, type OnShelf } from './offer.js';
import { readSchemas } from './schemas/read-schemas.js';

const log = { debug() {}, info() {}, warn() {}, error() {} };
const [backend] = configuredBackends(
  {
    CORTEX_BACKENDS: ['big'],
    CORTEX_TICKET_BACKENDS: [],
    CORTEX_TECHNICAL_TOKEN: 't',
    CORTEX_ALLOW_INSECURE_BACKENDS: false,
    CORTEX_ALLOW_UNPREFIXED: false,
    CORTEX_REQUIRE_TOKEN_EXCHANGE: false,
    CORTEX_TOOL_NAME_MAX: 48,
    production: false,
  },
  { CORTEX_BACKEND_BIG_URL: 'https://big.example' },
).backends;
const rules = { backend: backend!, builtins: new Set<string>(), production: true, readSchemas };

const MANY = 10_000;
const declare = (from: (i: number) => string) =>
  `[${Array.from({ length: MANY }, (_, i) => JSON.stringify({ name: `tool ${i}`, scope: 'mcp:big:use', description: from(i), params: { n: 'number' } })).join(',')}]`;
const shelfOf = (tools: OnShelf['declared']['tools'], healthy = true): OnShelf => {
  const declared = { tools, prompts: [], templates: [], resources: [] };
  return { backend: backend!, healthy, declared, reviewed: { served: declared, held: [] } };
};
const offerOf = () => new FederatedOffer({ max: 48, longestMs: 1, digestOf: () => 'd', reserves: () => false, log });

it('P24 ten thousand tools of one backend all have a name of their own', () => {
  const { items, faults } = readTools(
    rules,
    declare((i) => `Number ${i}.`),
  );
  expect(faults).toEqual([]);
  const { tools, kinds } = offerOf().update([shelfOf(items)]);
  expect([...kinds]).toEqual(['tools']);
  expect(new Set(tools.map(({ name }) => name)).size).toBe(MANY);
  expect(tools.map(({ name }) => name)).toEqual(tools.map(({ name }) => name).toSorted());
});

it('of them only what changed is made again, and nothing is when nothing did', () => {
  const first = readTools(
    rules,
    declare((i) => `Number ${i}.`),
  );
  const offer = offerOf();
  const catalog = new Catalog([], log, true);
  const before = offer.update([shelfOf(first.items)]).tools;
  catalog.setFederated(before, false);
  const { version } = catalog;
  expect(offer.update([shelfOf(first.items)]).kinds.size).toBe(0);

  const second = readTools(
    rules,
    declare((i) => (i === 7 ? 'Changed.' : `Number ${i}.`)),
    first.known,
  );
  const { tools, changes } = offer.update([shelfOf(second.items)]);
  expect(tools.filter((tool, i) => tool !== before[i])).toHaveLength(1);
  expect(changes).toEqual([expect.stringMatching(/^~big_tool_7_[0-9a-f]{8}$/)]);
  catalog.setFederated(tools, true);
  expect(catalog.version).toBe(version + 1);
  catalog.setFederated(tools, true);
  expect(catalog.version).toBe(version + 1);
});

it('an outage takes them all away and brings the same ones back', () => {
  const { items } = readTools(
    rules,
    declare(() => 'Same.'),
  );
  const offer = offerOf();
  const before = offer.update([shelfOf(items)]).tools;
  expect(offer.update([shelfOf(items, false)]).tools).toEqual([]);
  const after = offer.update([shelfOf(items)]).tools;
  expect(after.every((tool, i) => tool === before[i])).toBe(true);
});
