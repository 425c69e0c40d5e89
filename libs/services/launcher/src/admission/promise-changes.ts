import type { PromiseAnnotation } from '@dovetail/core-api';
import { addResources, subtractResources } from '@dovetail/core-kube-model';

/**
 * A holder's promise once pods are added: the held pods that still wait, and the new ones. Of two
 * ends the later counts, and a promise without an end keeps none. `live` is the promise that binds
 * so far; undefined if there is none.
 */
export function mergedPromise(
  live: PromiseAnnotation | undefined,
  added: PromiseAnnotation,
  stillWaits: (podUid: string) => boolean,
): PromiseAnnotation {
  const podUids = [
    ...new Set([...(live?.podUids ?? []).filter(stillWaits), ...added.podUids]),
  ].sort();
  // A claim that is not initialized promises without an end.
  const untilMs =
    live !== undefined && live.untilMs === undefined
      ? undefined
      : Math.max(live?.untilMs ?? 0, added.untilMs ?? 0) || undefined;
  return {
    podUids,
    admission: added.admission,
    ...(untilMs === undefined ? {} : { untilMs }),
    ...mergedRoom(live, added),
  };
}

type KeptRoom = Pick<PromiseAnnotation, 'reserved' | 'forPodUids' | 'replaces'>;

/** The room by amount of both. If one of them does not say for which pods, the whole does not. */
function mergedRoom(live: PromiseAnnotation | undefined, added: PromiseAnnotation): KeptRoom {
  const kept = [live, added].filter((one) => one?.reserved !== undefined);
  if (kept.length === 0) return {};
  const isNamed = kept.every((one) => one?.forPodUids !== undefined);
  const forPodUids = [...new Set(kept.flatMap((one) => one?.forPodUids ?? []))].sort();
  const replaces = live?.replaces ?? added.replaces;
  return {
    reserved: addResources(live?.reserved ?? {}, added.reserved ?? {}),
    ...(isNamed ? { forPodUids } : {}),
    ...(replaces === undefined ? {} : { replaces }),
  };
}

/** The promise without these pods and this room; undefined when nothing is left. */
export function promiseWithout(
  held: PromiseAnnotation,
  removed: PromiseAnnotation,
): PromiseAnnotation | undefined {
  const gone = new Set(removed.podUids);
  const podUids = held.podUids.filter((uid) => !gone.has(uid));
  const { reserved: _reserved, forPodUids: _pods, replaces: _node, ...rest } = held;
  const room = roomWithout(held, removed);
  const isKept = podUids.length > 0 || room.reserved !== undefined;
  return isKept ? { ...rest, ...room, podUids } : undefined;
}

function roomWithout(held: PromiseAnnotation, removed: PromiseAnnotation): KeptRoom {
  const { reserved, forPodUids, replaces } = held;
  const gone = new Set(removed.forPodUids);
  const left = forPodUids?.filter((uid) => !gone.has(uid)) ?? [];
  if (reserved === undefined || (removed.reserved !== undefined && left.length === 0)) return {};
  return {
    reserved: subtractResources(reserved, removed.reserved ?? {}),
    ...(forPodUids === undefined ? {} : { forPodUids: left }),
    ...(replaces === undefined ? {} : { replaces }),
  };
}
