/** Tests run from the sources: the condition `source` of every package's `exports` needs no build. */
export default {
  testMatch: ['<rootDir>/{libs,services}/*/src/**/*.spec.ts'],
  testEnvironment: 'node',
  testEnvironmentOptions: { customExportConditions: ['source', 'node', 'node-addons'] },
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: { '^.+\\.ts$': ['@swc/jest', { configFile: '.swcrc' }] },
  modulePathIgnorePatterns: ['/dist/'],
  maxWorkers: 2,
};
