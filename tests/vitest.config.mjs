// The tests of the whole system and of its parts against others.
import { running } from '../vitest.shared.mjs';

export default running(['tests/{built,conformance,e2e,scenarios}'], {
  // They wait half of their time, so more files than processors run at once.
  maxWorkers: 4,
});
