import type { PodPromise } from '@dovetail/contracts';
import { compareCodeUnits } from '@dovetail/core-ec2-model';
import { parseAdmission } from '../admission/number.js';
import { livePromise } from '../world/promises.js';
import type { World } from '../world/world.js';

/** All promises that bind now, as the state feed says them, by holder. */
export function promisesToTell(world: World, nowMs: number): readonly PodPromise[] {
  const told: PodPromise[] = [];
  for (const holderUid of world.promiseHolders()) {
    const live = livePromise(world, holderUid, nowMs);
    if (live === undefined) continue;
    told.push({
      holderUid, holderKind: live.holder.kind, holderName: live.holder.value.name, podUids: live.waiting.map((pod) => pod.uid).sort(compareCodeUnits),
      admission: parseAdmission(live.promise.admission) ?? { epoch: 0, number: 0 },
      ...(live.promise.untilMs === undefined ? {} : { untilMs: live.promise.untilMs }), reserved: live.promise.reserved ?? {},
    });
  }
  return told.sort((a, b) => compareCodeUnits(a.holderUid, b.holderUid));
}
