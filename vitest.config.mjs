// The tests of all projects, of the house and of the stories.
import { running } from './vitest.shared.mjs';

export default running(['apps', 'libs', 'tests/house', 'tests/stories']);
