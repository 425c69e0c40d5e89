import { labels } from '@dovetail/core-api';
import {
  compareText,
  type CsiNode,
  type NodeSelectorTerm,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  type PodVolume,
} from '@dovetail/core-kube-model';

import type { Violation } from '../plan.js';
import type { Surroundings } from '../snapshot.js';
import { type Host, labelsSatisfy, type Variant } from './hosts.js';

type Facts = {
  readonly problem?: string;
  readonly terms?: readonly NodeSelectorTerm[];
  readonly local: boolean;
  readonly driver?: string;
  readonly id: string;
};

/** Storage objects by name. */
type Storage = {
  readonly snapshot: Surroundings;
  readonly claims: ReadonlyMap<string, PersistentVolumeClaim>;
  readonly volumes: ReadonlyMap<string, PersistentVolume>;
  readonly limits: ReadonlyMap<string, CsiNode['limits']>;
};

const known = new WeakMap<Surroundings, Storage>();
function storageOf(snapshot: Surroundings): Storage {
  const storage = known.get(snapshot) ?? {
    snapshot,
    claims: new Map(
      snapshot.persistentVolumeClaims.map((one) => [`${one.namespace}/${one.name}`, one]),
    ),
    volumes: new Map(snapshot.persistentVolumes.map((one) => [one.name, one])),
    limits: new Map(snapshot.csiNodes.map((one) => [one.name, one.limits])),
  };
  known.set(snapshot, storage);
  return storage;
}

function classFacts(snapshot: Surroundings, name: string | undefined, id: string): Facts {
  const byAge = [...snapshot.storageClasses].sort(
    (a, b) => b.createdMs - a.createdMs || compareText(a.name, b.name),
  );
  const found =
    name === undefined
      ? byAge.find((one) => one.isDefault)
      : byAge.find((one) => one.name === name);
  if (found === undefined) return { problem: 'has no storage class', local: false, id };
  if (found.bindingMode === 'Immediate')
    return { problem: 'is unbound and binds immediately', local: false, id };
  return {
    local: false,
    driver: found.provisioner,
    id,
    ...(found.allowedTopologies === undefined ? {} : { terms: found.allowedTopologies }),
  };
}

function factsOf({ snapshot, claims, volumes }: Storage, pod: Pod, volume: PodVolume): Facts {
  const id = `${pod.namespace}/${volume.claimName}`;
  const claim = claims.get(id);
  if (claim === undefined)
    return volume.ephemeral === undefined
      ? { problem: 'does not exist', local: false, id }
      : classFacts(snapshot, volume.ephemeral.storageClassName, `${id} of ${pod.uid}`);
  if (claim.deletionMs !== undefined) return { problem: 'is being deleted', local: false, id };
  if (claim.phase === 'Lost') return { problem: 'is lost', local: false, id };
  if (claim.volumeName === undefined || claim.volumeName === '')
    return classFacts(snapshot, claim.storageClassName, id);
  const bound = volumes.get(claim.volumeName);
  if (!claim.bindCompleted || bound === undefined || bound.deletionMs !== undefined)
    return { problem: 'is not bound to a usable volume', local: false, id };
  return {
    local: bound.local,
    id: bound.name,
    ...(bound.nodeAffinity === undefined ? {} : { terms: bound.nodeAffinity }),
    ...(bound.driver === undefined ? {} : { driver: bound.driver }),
  };
}

function reachable(facts: Facts, have: Variant): boolean {
  if (facts.terms === undefined || facts.terms.length === 0) return true;
  return facts.terms.some((term) =>
    labelsSatisfy(
      have,
      term.matchExpressions.filter((one) => !facts.local || one.key !== labels.hostname),
    ),
  );
}

function limitViolations(host: Host, storage: Storage): readonly Violation[] {
  if (host.planned.every((pod) => pod.volumes.length === 0)) return [];
  const limits = storage.limits.get(host.existing?.name ?? '') ?? {};
  const ids = (pods: readonly Pod[], driver: string): readonly string[] =>
    pods
      .flatMap((pod) => pod.volumes.map((volume) => factsOf(storage, pod, volume)))
      .filter((facts) => facts.problem === undefined && facts.driver === driver)
      .map((facts) => facts.id);
  return Object.entries(limits).flatMap(([driver, limit]) => {
    const before = new Set(ids(host.running, driver));
    const after = new Set([...before, ...ids(host.planned, driver)]);
    return after.size > before.size && after.size > limit
      ? [
          {
            code: 'volume-limit' as const,
            where: host.name,
            message: `${after.size} volumes of ${driver}, ${limit} can be attached`,
          },
        ]
      : [];
  });
}

/** Returns the volumes that the node cannot reach or attach. */
export function volumeViolations(host: Host, snapshot: Surroundings): readonly Violation[] {
  const found: Violation[] = [];
  const storage = storageOf(snapshot);
  for (const pod of host.planned) {
    for (const volume of pod.volumes) {
      const facts = factsOf(storage, pod, volume);
      if (facts.problem !== undefined)
        found.push({
          code: 'volume',
          where: host.name,
          message: `claim ${facts.id} of pod ${pod.uid} ${facts.problem}`,
          podUid: pod.uid,
        });
      else if (
        host.blueprint.firstFailing(
          `volume ${facts.local} ${JSON.stringify(facts.terms)}`,
          (variant) => reachable(facts, variant),
        ) !== undefined
      )
        found.push({
          code: 'volume',
          where: host.name,
          message: `volume of claim ${facts.id} is not reachable from every option`,
          podUid: pod.uid,
        });
    }
  }
  return host.existing === undefined ? found : [...found, ...limitViolations(host, storage)];
}
