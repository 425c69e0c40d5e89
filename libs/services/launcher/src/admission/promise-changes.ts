import type { PromiseAnnotation } from '@dovetail/core-api';
import { addResources } from '@dovetail/core-kube-model';

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
  const reserved =
    live?.reserved === undefined
      ? added.reserved
      : addResources(live.reserved, added.reserved ?? {});
  const replaces = live?.replaces ?? added.replaces;
  // A claim that is not initialized promises without an end.
  const untilMs =
    live !== undefined && live.untilMs === undefined
      ? undefined
      : Math.max(live?.untilMs ?? 0, added.untilMs ?? 0) || undefined;
  return {
    podUids,
    admission: added.admission,
    ...(untilMs === undefined ? {} : { untilMs }),
    ...(reserved === undefined ? {} : { reserved }),
    ...(replaces === undefined ? {} : { replaces }),
  };
}

/** The promise without these pods; undefined when it keeps no room any more. */
export function promiseWithout(
  held: PromiseAnnotation,
  removed: PromiseAnnotation,
): PromiseAnnotation | undefined {
  const gone = new Set(removed.podUids);
  const podUids = held.podUids.filter((uid) => !gone.has(uid));
  const { reserved: _reserved, replaces: _replaces, ...rest } = held;
  const left: PromiseAnnotation = removed.reserved === undefined ? held : rest;
  return podUids.length === 0 && left.reserved === undefined ? undefined : { ...left, podUids };
}
