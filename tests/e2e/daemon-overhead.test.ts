import { claims, instances, ourNodes, pods, untilRunning } from '@dovetail/test-support/cluster';
import {
  allInitialized,
  boundTo,
  createPods,
  plannedNodes,
  podObject,
  poolReady,
} from '@dovetail/test-support/placement';
import { metric, serviceOf } from '@dovetail/test-support/service-view';
import { poolManifest } from '@dovetail/test-support/workload';
import { eventually, openWorld, type TestWorld, worlds } from '@dovetail/test-support/world';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/**
 * A LimitRange enlarges the pods of a daemonset whose template asks for nothing. Nodes that are
 * planned by the template alone are too small. The daemon takes the room of planned pods, the node
 * ends as empty, and the next one is launched, without end.
 */
const agents = `
apiVersion: v1
kind: Namespace
metadata: { name: agents }
---
apiVersion: v1
kind: LimitRange
metadata: { name: defaults, namespace: agents }
spec:
  limits:
    - type: Container
      default: { cpu: "1", memory: 512Mi }
      defaultRequest: { cpu: 500m, memory: 256Mi }
---
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: agent, namespace: agents }
spec:
  selector: { matchLabels: { app: agent } }
  template:
    metadata: { labels: { app: agent } }
    spec:
      terminationGracePeriodSeconds: 0
      tolerations: [{ operator: Exists }]
      containers: [{ name: agent, image: public.ecr.aws/eks-distro/kubernetes/pause:3.9 }]
`;
/** Alone on a c5.large such a pod leaves 330 millicores: too few for the daemon's 500. */
const podCpu = '1600m';
const podsPlanned = 3;
/** How many of the reaper's passes, and times of an empty node, are observed. */
const periods = 3;

/** Everything that was bought or given up, in numbers and names. */
async function bought(at: TestWorld): Promise<object> {
  return {
    claims: (await claims(at)).map(({ metadata }) => metadata.name).toSorted(),
    instances: (await instances(at)).map(({ instanceId }) => instanceId).toSorted(),
    launches: at.decisions.of('launch').length,
    ended: [...at.decisions.of('disrupt'), ...at.decisions.of('terminate')].map(
      ({ summary }) => summary,
    ),
  };
}

const passes = async (at: TestWorld): Promise<number> =>
  metric(
    await serviceOf(at.lab, 'reaper'),
    'karpenter_voluntary_disruption_decision_evaluation_duration_seconds_count',
  );

/** Lets the time of an empty node pass, again and again, until the reaper has seen each. */
async function observe(at: TestWorld): Promise<void> {
  for (let period = 0; period < periods; period += 1) {
    const before = await passes(at);
    await at.lab.advanceClock(11_000);
    await eventually('two more passes of the reaper', async () => (await passes(at)) >= before + 2);
  }
}

describe.each(
  (await worlds()).flatMap((world) => [[world, 'bind'] as const, [world, 'scheduler'] as const]),
)(
  'a daemonset whose pods a LimitRange enlarges, on the %s world with placement %s',
  (world, placement) => {
    let at: TestWorld;
    beforeAll(async () => {
      at = await openWorld({
        world,
        placement,
        env: { 'pod-watcher': { BATCH_IDLE_DURATION: '1s' } },
      });
      await at.kube.putManifests(agents);
      await at.kube.putManifests(
        poolManifest({
          clusterName: 'lab',
          instanceTypes: ['c5.large', 'c5.xlarge', 'c5.2xlarge'],
        }),
      );
      await poolReady(at);
    });
    afterAll(async () => at?.close());

    test('costs one round of nodes, which hold it and the planned pods and stay', async () => {
      const made = await createPods(
        at,
        Array.from({ length: podsPlanned }, (_, index) =>
          podObject(`app-${index}`, { cpu: podCpu, memory: '100Mi' }),
        ),
      );
      await untilRunning(at, 'default', podsPlanned);
      await eventually('every node to be initialised', () => allInitialized(at));
      const nodes = (await ourNodes(at)).map(({ metadata }) => metadata.name).toSorted();
      await untilRunning(at, 'agents', nodes.length);
      const daemons = (await pods(at, 'agents')).map(({ spec }) => spec.nodeName ?? '');
      expect(daemons.toSorted()).toEqual(nodes);
      if (placement === 'bind') {
        const [bound, planned] = [await boundTo(at), await plannedNodes(at)];
        for (const { metadata } of made)
          expect(bound.get(metadata.uid ?? '')).toBe(planned.get(metadata.uid ?? ''));
      }
      const first = await bought(at);
      expect(first).toMatchObject({ launches: nodes.length, ended: [] });
      await observe(at);
      expect(await bought(at)).toEqual(first);
    });
  },
);
