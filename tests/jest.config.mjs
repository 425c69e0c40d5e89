// For the tests of the whole system and of its parts against others; `--rootDir` may select a folder.
import shared from '../jest.shared.mjs';

export default {
  ...shared,
  // Some wait for a life of nodes in real time, or play many faults.
  testTimeout: 900_000,
  testPathIgnorePatterns: ['/node_modules/', '/tests/house/', '/tests/stories/'],
};
