/** Tests run from the sources: the condition `cortex-source` of every package's `exports` needs no build. */
export default {
  testMatch: ['<rootDir>/{libs,services}/*/src/**/*.spec.ts'],
  testEnvironment: 'node',
  testEnvironmentOptions: { customExportConditions: ['cortex-source', 'node', 'node-addons'] },
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: { '^.+\\.ts$': ['@swc/jest', { configFile: '.swcrc' }] },
  globalSetup: '<rootDir>/libs/testing/jest-setup.mjs',
  globalTeardown: '<rootDir>/libs/testing/jest-teardown.mjs',
  modulePathIgnorePatterns: ['/dist/'],
  // Above the limits of `eventually`, so that a condition that never came true is what a failure names.
  testTimeout: 120_000,
  // One more than the cores of a small machine: a good part of a test with real servers is waiting for them.
  maxWorkers: 3,
};
