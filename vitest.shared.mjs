// Settings that all tests share.
import { fileURLToPath } from 'node:url';

// Tests run on the sources of the workspace, not on what was built of them.
const conditions = ['@dovetail/source', 'node', 'node-addons'];

/** Settings of a run of the test files of these folders. */
export const running = (folders, test = {}) => ({
  root: fileURLToPath(new URL('.', import.meta.url)),
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    include: folders.map((folder) => `${folder}/**/*.test.ts`),
    // Services under test own their process: its signals, exits and event loop.
    pool: 'forks',
    // The files of a process share its modules: loading them for each file takes as long as the tests.
    isolate: false,
    maxWorkers: 2,
    // No test is about time. These end a test that hangs, on however slow a machine: with 26 others
    // on two processors, a test that needs 20 s of one took 304 s.
    testTimeout: 900_000,
    hookTimeout: 900_000,
    reporters: ['default', './tools/summary-reporter.mjs'],
    ...test,
  },
});
