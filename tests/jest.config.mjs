// For the tests of the whole system and of its parts against others; `--rootDir` may select a folder.
import shared from '../jest.shared.mjs';

export default {
  ...shared,
  testPathIgnorePatterns: ['/node_modules/', '/tests/house/', '/tests/stories/'],
};
