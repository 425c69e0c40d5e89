// Tests across projects: they start the lab's processes, so no more than two files run at a time (see tools/test.mjs).
// The conformance suite of Kubernetes is a project of its own and runs with the projects' tests.
import preset from '../jest.preset.mjs';

export default { ...preset, rootDir: import.meta.dirname, testMatch: ['<rootDir>/**/*.test.ts'], testPathIgnorePatterns: ['/conformance/kube/'], testTimeout: 240_000 };
