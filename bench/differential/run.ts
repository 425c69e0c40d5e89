import { present } from '@dovetail/core-invariant';

import { type PeerResult, planAllWithPeer } from '../planner/peer.js';
import type { BenchWorld } from '../worlds/objects.js';
import { type Difference, differenceOf, placedOnlyHere } from './compare.js';
import { smallWorld } from './world.js';

/** So many worlds are planned by one process of the peer. */
const worldsPerProcess = 250;

/**
 * Gives a reason if Karpenter refuses some pod that has a place here, even as the only pod. The
 * room that such a pod has here may go to several smaller ones there.
 */
async function withRefusals(
  difference: Difference,
  world: BenchWorld,
  peer: PeerResult,
): Promise<Difference> {
  if (difference.reason !== undefined || difference.what !== 'fewer pods') return difference;
  const alone = placedOnlyHere(world, peer).map((pod) => ({ ...world, pods: [pod] }));
  // The peer answers nothing when it is asked nothing.
  if (alone.length === 0) return difference;
  const refused = (await planAllWithPeer(alone)).some(({ unplaced }) => unplaced > 0);
  return refused ? { ...difference, reason: 'Karpenter refuses a pod that has room' } : difference;
}

/** Plans small worlds with both schedulers and returns where Karpenter's plans are better. */
export async function differencesIn(seeds: readonly number[]): Promise<readonly Difference[]> {
  const found: Difference[] = [];
  for (let from = 0; from < seeds.length; from += worldsPerProcess) {
    const worlds = seeds.slice(from, from + worldsPerProcess).map(smallWorld);
    const peers = await planAllWithPeer(worlds);
    for (const [index, world] of worlds.entries()) {
      const peer = present(peers[index], 'the peer answers for each world');
      const difference = differenceOf(world, peer);
      if (difference !== undefined) found.push(await withRefusals(difference, world, peer));
    }
  }
  return found;
}
