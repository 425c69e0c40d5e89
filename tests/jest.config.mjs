// Tests across projects: they start the lab's processes, so they run one file at a time (see tools/test.mjs).
import preset from '../jest.preset.mjs';

export default { ...preset, rootDir: import.meta.dirname, testMatch: ['<rootDir>/**/*.test.ts'], testTimeout: 240_000 };
