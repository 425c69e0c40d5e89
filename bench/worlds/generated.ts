import type { Pod } from '@dovetail/core-kube-model';
import { Random } from '@dovetail/core-scheduling/testing';

import {
  type BenchWorld,
  daemonSetOf,
  hostKey,
  mebibyte,
  podOf,
  selecting,
  snapshotOf,
  zoneKey,
} from './objects.js';
import { realTypes } from './real-types.js';

/** Which rules the pods have: none, or spread and anti-affinity as people write them. */
export type Rules = 'plain' | 'spread';

const clamp = (value: number, least: number, most: number): number =>
  Math.min(most, Math.max(least, value));

/**
 * Log-normal requests: 400 millicores and 3 GiB a core in the middle, rounded as people write them.
 */
function requestsOf(random: Random, cpuMillisMax: number): Pod['requests'] {
  const cpu = clamp(
    Math.round(Math.exp(Math.log(400) + 1.0 * random.normal()) / 10) * 10,
    20,
    cpuMillisMax,
  );
  const memory = clamp(
    Math.round((cpu * 3.1 * Math.exp(0.8 * random.normal())) / 32) * 32,
    32,
    (24 * cpuMillisMax) / 8,
  );
  return { cpu, memory: memory * mebibyte, pods: 1 };
}

function rulesOf(random: Random, app: string, replicas: number): Partial<Pod> {
  const spread = (topologyKey: string): Pod['topologySpread'][number] => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: 'DoNotSchedule',
    selector: selecting({ app }),
    nodeAffinityPolicy: 'Honor',
    nodeTaintsPolicy: 'Ignore',
  });
  const draw = random.next();
  if (replicas < 2) return {};
  if (draw < 0.3) return { topologySpread: [spread(zoneKey)] };
  if (draw < 0.5) return { topologySpread: [spread(hostKey)] };
  if (draw < 0.6) return { topologySpread: [spread(zoneKey), spread(hostKey)] };
  if (draw < 0.75 && replicas <= 12)
    return {
      requiredPodAntiAffinity: [
        { topologyKey: hostKey, selector: selecting({ app }), namespaces: [] },
      ],
    };
  return {};
}

/** Heavy-tailed numbers of replicas (Pareto, 1.2), none above a fifth of all pods. */
const replicasOf = (random: Random, all: number): number =>
  Math.min(Math.ceil(all / 5), Math.floor((1 - random.next()) ** (-1 / 1.2)));

/**
 * Deployments with log-normal requests and heavy-tailed replicas beside two daemonsets, on real
 * types.
 */
export function generatedWorld(what: {
  readonly pods: number;
  readonly seed: number;
  readonly vcpusMax: number;
  readonly rules: Rules;
}): BenchWorld {
  const random = new Random(what.seed * 7919 + what.pods);
  const cpuMillisMax = Math.min(14_000, what.vcpusMax * 500);
  const pods: Pod[] = [];
  for (let deployment = 0; pods.length < what.pods; deployment += 1) {
    const replicas = Math.min(what.pods - pods.length, replicasOf(random, what.pods));
    const app = `app-${deployment}`;
    const shared = {
      labels: { app },
      requests: requestsOf(random, cpuMillisMax),
      ...(what.rules === 'spread' ? rulesOf(random, app, replicas) : {}),
    };
    for (let replica = 0; replica < replicas; replica += 1)
      pods.push(podOf(`${app}-${replica}`, shared));
  }
  const size = Number.isFinite(what.vcpusMax) ? `<=${what.vcpusMax} vCPU` : 'any size';
  return {
    name: `${what.rules} ${what.pods}, ${size}, seed ${what.seed}`,
    snapshot: snapshotOf(realTypes(what.vcpusMax), [
      daemonSetOf('agent', 100, 128),
      daemonSetOf('logs', 150, 384),
    ]),
    pods,
  };
}

/**
 * This many equal deployments, whatever the number of pods. Planning time grows with the number of
 * deployments.
 */
export function evenWorld(what: {
  readonly pods: number;
  readonly classes: number;
  readonly seed: number;
}): BenchWorld {
  const random = new Random(what.seed);
  const shared = Array.from({ length: what.classes }, (_, index) => ({
    labels: { app: `app-${index}` },
    requests: { ...requestsOf(random, 14_000), 'ephemeral-storage': index * mebibyte },
  }));
  const pods = Array.from({ length: what.pods }, (_, index) =>
    podOf(
      `app-${index % what.classes}-${Math.floor(index / what.classes)}`,
      shared[index % what.classes] ?? {},
    ),
  );
  return {
    name: `${what.pods} pods, ${what.classes} classes`,
    snapshot: snapshotOf(realTypes(32), []),
    pods,
  };
}
