import { expect, test } from 'vitest';

import { CloudError } from './cloud.js';

test("an error of the cloud keeps AWS' own code beside ours, because people search for it", () => {
  const cause = new Error('socket hang up');
  expect(
    new CloudError('capacity-exhausted', 'InsufficientInstanceCapacity', 'none', { cause }),
  ).toMatchObject({
    name: 'CloudError',
    code: 'capacity-exhausted',
    awsCode: 'InsufficientInstanceCapacity',
    message: 'none',
    cause,
  });
});
