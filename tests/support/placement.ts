import { type KubeObject, kubeResources } from '@dovetail/core-ports';

import { claims, pods } from './cluster.js';
import { eventually, type TestWorld } from './world.js';

/**
 * The room for pods on 8 vCPU after the kubelet's own share (60 + 10 + 2 × 5 + 4 × 2.5 millicores),
 * in tenths of a core.
 */
const nodeTenths = 79;

/** A pod on its own with these requests. */
export const podObject = (
  name: string,
  requests: Readonly<Record<string, string>>,
  spec: Readonly<Record<string, unknown>> = {},
): KubeObject => ({
  metadata: { name, namespace: 'default' },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [
      {
        name: 'app',
        image: 'public.ecr.aws/eks-distro/kubernetes/pause:3.9',
        resources: { requests },
      },
    ],
    ...spec,
  },
});

/**
 * Requests in millicores that fill this many nodes of 8 vCPU to 98–100 %, five pods a node, in an
 * order that hides the packing. Every pod is larger than all the free room together, so no pod of
 * another node can slip into it.
 */
export function tightRequests(nodes: number, draw: () => number): readonly number[] {
  const shares = Array.from({ length: nodes }, (_, node) =>
    splitRandomly(node < podTenthsMin - 1 ? nodeTenths - 1 : nodeTenths, 5, draw),
  );
  return shares
    .flat()
    .map((tenths) => ({ millicores: tenths * 100, at: draw() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ millicores }) => millicores);
}

const podTenthsMin = 4;

/** Whole numbers, each at least the least, that add up to the total. */
function splitRandomly(total: number, parts: number, draw: () => number): readonly number[] {
  const weights = Array.from({ length: parts }, () => draw() ** 2);
  const sum = weights.reduce((all, weight) => all + weight, 0);
  const spare = total - parts * podTenthsMin;
  const shared = weights
    .slice(1)
    .map((weight) => podTenthsMin + Math.floor((spare * weight) / sum));
  return [total - shared.reduce((all, part) => all + part, 0), ...shared];
}

/**
 * The node on which each pod was planned, by pod UID, according to the admissions: a new one, or
 * room on one to come. Pods that were planned more than once keep their first plan.
 */
export async function plannedNodes(at: TestWorld): Promise<ReadonlyMap<string, string>> {
  const nodeOfClaim = new Map(
    (await claims(at)).map((claim) => [
      claim.metadata.name,
      (claim['status'] as { nodeName?: string } | undefined)?.nodeName ?? '',
    ]),
  );
  const planned = new Map<string, string>();
  for (const { objects } of at.decisions.of('admit')) {
    const holder = objects.find(({ kind }) => kind !== 'Pod')?.name ?? '';
    for (const { kind, uid } of objects)
      if (kind === 'Pod' && uid !== undefined && !planned.has(uid))
        planned.set(uid, nodeOfClaim.get(holder) ?? holder);
  }
  return planned;
}

/** UIDs of the pods that some plan has a node for. */
export const admittedPods = (at: TestWorld): ReadonlySet<string> =>
  new Set(
    at.decisions
      .of('admit')
      .flatMap(({ objects }) =>
        objects.flatMap(({ kind, uid }) => (kind === 'Pod' && uid !== undefined ? [uid] : [])),
      ),
  );

/** Whether every claim has its node, initialised. */
export async function allInitialized(at: TestWorld): Promise<boolean> {
  const all = await claims(at);
  type Conditions = { conditions?: readonly { type: string; status: string }[] } | undefined;
  return (
    all.length > 0 &&
    all.every(
      (claim) =>
        (claim['status'] as Conditions)?.conditions?.some(
          ({ type, status }) => type === 'Initialized' && status === 'True',
        ) === true,
    )
  );
}

/** The node of each bound pod, by UID; '' for an unbound one. */
export const boundTo = async (at: TestWorld): Promise<ReadonlyMap<string, string>> =>
  new Map(
    (await pods(at, 'default')).map((pod) => [pod.metadata.uid ?? '', pod.spec.nodeName ?? '']),
  );

export const createPods = (
  at: TestWorld,
  objects: readonly KubeObject[],
): Promise<readonly KubeObject[]> =>
  Promise.all(objects.map((pod) => at.kube.create(kubeResources.pods, pod)));

/**
 * Creates pods that no owner counts, for one batch: pod-watcher is away until all of them exist. It
 * cannot know that more of them come, so else a batch leaves whenever none has come for 40 ms.
 */
export async function createTogether(
  at: TestWorld,
  objects: readonly KubeObject[],
): Promise<readonly KubeObject[]> {
  const { parts, supervisor } = at.lab;
  if (supervisor === undefined) throw new Error('a lab without a supervisor starts no part again');
  // Without a nats-server all services are one part.
  const name = parts.has('pod-watcher') ? 'pod-watcher' : 'services';
  supervisor.hold(name);
  try {
    await parts.get(name)?.stop();
    return await createPods(at, objects);
  } finally {
    supervisor.release(name);
  }
}

/** Deletes every pod and lets its nodes go, which are empty now. */
export async function deletePods(at: TestWorld): Promise<void> {
  const all = await at.list(kubeResources.pods, { namespace: 'default' });
  await Promise.all(
    all.map(({ metadata: { name } }) =>
      at.kube.delete(
        { resource: kubeResources.pods, namespace: 'default', name },
        { gracePeriodSeconds: 0 },
      ),
    ),
  );
}

/** Waits until the pool may be used. Earlier pods would wait in back-off. */
export const poolReady = (at: TestWorld): Promise<unknown> =>
  eventually('the pool to be ready', async () =>
    (await at.list(kubeResources.nodePools)).every(
      (pool) =>
        (
          pool['status'] as { conditions?: readonly { type: string; status: string }[] } | undefined
        )?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true,
    ),
  );
