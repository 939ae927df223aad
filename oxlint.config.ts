import { defineConfig, type OxlintOverride } from 'oxlint';

const STACK = ['contracts', 'bus', 'eventstore', 'service-kit', 'auth'];

const NATS = { group: ['@nats-io/*'], message: 'speak to NATS through @cortex/bus' };
const PG = { group: ['pg', 'pg/*'], message: 'PostgreSQL is reached through @cortex/eventstore' };
const SQL = { group: ['kysely', 'kysely/*'], message: 'tables belong to the event store and the services' };
const NEST = { group: ['@nestjs/*'], message: 'Nest begins at the service kit' };
const INDEX = {
  regex: '^\\.{1,2}/(.*/)?index\\.js$',
  message: 'inside a package import the file itself; its index.ts is for the others',
};

/** Of our own packages only these may be imported. */
const only = (names: readonly string[], message: string) => ({
  group: ['@cortex/*', ...names.map((name) => `!@cortex/${name}`)],
  message,
});
const FIXTURES = { group: ['@cortex/testing'], message: 'fixtures are for specs' };

const layer = (files: string, ...patterns: object[]): OxlintOverride => ({
  files: [files],
  rules: { 'eslint/no-restricted-imports': ['error', { patterns: [...patterns, INDEX] }] },
});

export default defineConfig({
  options: { typeAware: true, denyWarnings: true, reportUnusedDisableDirectives: 'error' },
  plugins: ['eslint', 'typescript', 'unicorn', 'oxc', 'import', 'node', 'promise', 'jest'],
  categories: { correctness: 'error' },
  ignorePatterns: ['**/dist/**', '**/node_modules/**'],
  rules: {
    'import/no-cycle': 'error',
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': ['error', { checksVoidReturn: { arguments: false } }],
    'typescript/switch-exhaustiveness-check': 'error',
    'typescript/await-thenable': 'error',
    'typescript/no-explicit-any': 'error',
    'typescript/only-throw-error': 'error',
    'typescript/return-await': ['error', 'error-handling-correctness-only'],
    'eslint/eqeqeq': 'error',
    'eslint/no-console': 'error',
    'eslint/no-var': 'error',
    'eslint/prefer-const': 'error',
    'node/no-process-env': 'error',
    // These find tests that silently test less; the rest of jest's rules is about its style.
    'jest/no-focused-tests': 'error',
    'jest/no-disabled-tests': 'error',
    'jest/expect-expect': 'off',
    'jest/no-conditional-expect': 'off',
    'jest/no-standalone-expect': 'off',
    'jest/valid-title': 'off',
  },
  // Of several overrides that name a file the last one decides.
  overrides: [
    layer('libs/contracts/src/**', only([], 'contracts imports nothing of ours'), NATS, PG, SQL, NEST),
    layer('libs/bus/src/**', only(['contracts'], 'bus stands on contracts alone'), PG, SQL, NEST),
    layer('libs/eventstore/src/**', only(['contracts', 'bus'], 'eventstore stands on contracts and bus'), NEST),
    layer(
      'libs/service-kit/src/**',
      only(['contracts', 'bus', 'eventstore'], 'service-kit is below auth and services'),
      NATS,
      PG,
    ),
    layer('libs/auth/src/**', only(['contracts'], 'auth stands on contracts alone'), NATS, PG, SQL, NEST),
    layer('libs/embedded/src/**', only([], 'embedded imports nothing of ours'), NATS, PG, SQL, NEST),
    layer('libs/testing/src/**', only([...STACK, 'embedded'], 'testing stands on the libraries and knows no service')),
    layer(
      'services/*/src/**',
      only(STACK, 'services meet on the bus: read events, or send a query or a command'),
      NATS,
      PG,
    ),
    layer(
      'services/device-client/src/**',
      only(['contracts'], 'the device client runs far from the rest'),
      NATS,
      PG,
      SQL,
      NEST,
    ),
    // Specs use the fixtures and what these stand on, and still know no service but their own.
    layer('libs/*/src/**/*.spec.ts', only([...STACK, 'embedded', 'testing'], 'a library knows no service')),
    layer('services/*/src/**/*.spec.ts', only([...STACK, 'embedded', 'testing'], 'a service knows no other service')),
    layer('services/*/src/testing/**', only([...STACK, 'embedded', 'testing'], 'a service knows no other service')),
    // The command line alone puts services together; its bench also measures the stock NATS client.
    layer('services/cli/src/**', FIXTURES, NATS),
    layer('services/cli/src/bench/**', FIXTURES),
    // Reads the streams as the provisioner, the only one who may make a consumer.
    layer('services/cli/src/events/**', FIXTURES),
    // Takes streams away and puts them back, as the provisioner.
    layer('services/cli/src/backup/**', FIXTURES),
    // Looks at the bus as its operator does, past every service.
    layer('services/cli/src/chaos/**', FIXTURES),
    // Fixtures of specs of the whole.
    layer('services/cli/src/{faults,testing}/**'),
    layer('services/cli/src/**/*.spec.ts'),
    {
      // Who reads the environment.
      files: [
        '**/config.ts',
        '**/*.config.ts',
        'services/cli/src/**',
        'libs/{embedded,testing}/src/**',
        'examples/**',
        '**/*.spec.ts',
      ],
      rules: { 'node/no-process-env': 'off' },
    },
    {
      // Programs that a person reads.
      files: ['services/cli/src/**', 'services/device-client/src/main.ts', 'examples/**'],
      rules: { 'eslint/no-console': 'off' },
    },
  ],
});
