import { emptySinceAnnotation } from '@dovetail/core-disruption';

import { claims, pods } from './cluster.js';
import { eventually, type TestWorld } from './world.js';

const marked = async (world: TestWorld): Promise<readonly boolean[]> =>
  (await claims(world)).map(
    (claim) => claim.metadata.annotations?.[emptySinceAnnotation] !== undefined,
  );

/**
 * Waits until the namespace has no pods and every node's countdown has begun. Advancing the clock
 * earlier would delay its beginning.
 */
export async function untilSeenEmpty(world: TestWorld, namespace: string): Promise<void> {
  await eventually(
    `no pods in ${namespace}`,
    async () => (await pods(world, namespace)).length === 0,
  );
  await eventually('every claim to be marked as empty', async () =>
    (await marked(world)).every(Boolean),
  );
}

/** Waits until no node's countdown runs. */
export const untilSeenOccupied = (world: TestWorld): Promise<unknown> =>
  eventually('no claim to be marked as empty', async () => !(await marked(world)).some(Boolean));
