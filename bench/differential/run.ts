import { present } from '@dovetail/core-invariant';

import { planAllWithPeer } from '../planner/peer.js';
import { type Difference, differenceOf } from './compare.js';
import { smallWorld } from './world.js';

/** So many worlds are planned by one process of the peer. */
const worldsPerProcess = 250;

/** Plans small worlds with both schedulers and returns where Karpenter's plans are better. */
export async function differencesIn(seeds: readonly number[]): Promise<readonly Difference[]> {
  const found: Difference[] = [];
  for (let from = 0; from < seeds.length; from += worldsPerProcess) {
    const worlds = seeds.slice(from, from + worldsPerProcess).map(smallWorld);
    const peers = await planAllWithPeer(worlds);
    for (const [index, world] of worlds.entries()) {
      const peer = present(peers[index], 'the peer answers for each world');
      const difference = differenceOf(world, peer);
      if (difference !== undefined) found.push(difference);
    }
  }
  return found;
}
