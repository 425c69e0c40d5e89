// For the tests across projects; `--rootDir` selects one. They start the lab's processes, so at
// most two files run at a time (tools/test.ts).
import preset from '../jest.preset.mjs';

export default { ...preset, testMatch: ['<rootDir>/**/*.test.ts'], testTimeout: 240_000 };
