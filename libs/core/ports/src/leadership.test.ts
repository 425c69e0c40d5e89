import { expect, test } from 'vitest';

import { BusError } from './bus.js';
import { KubeError } from './kube.js';
import { LeadershipLost } from './leadership.js';

test('the loss of leadership is told from every other error by its class and name', () => {
  const lost: unknown = new LeadershipLost('another leads');
  expect(lost).toMatchObject({ name: 'LeadershipLost', message: 'another leads' });
  expect(lost instanceof BusError || lost instanceof KubeError).toBe(false);
});
