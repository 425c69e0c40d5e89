// What all tests share. ESM needs node's --experimental-vm-modules (see nx.json).
export default {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  testMatch: ['**/*.test.ts'],
  // No test is about time. It ends a test that hangs, on however slow a machine.
  testTimeout: 300_000,
  // Each file's modules stay in its worker. Beyond this, collecting them takes longer than the tests.
  workerIdleMemoryLimit: 600e6,
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  testEnvironmentOptions: { customExportConditions: ['@dovetail/source', 'node', 'node-addons'] },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  transformIgnorePatterns: ['/node_modules/', '/gen/'],
  reporters: ['default', new URL('./tools/summary-reporter.mjs', import.meta.url).pathname],
};
