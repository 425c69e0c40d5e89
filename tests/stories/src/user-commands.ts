import { labels, taints } from '@dovetail/core-api';
import { type KubeObject, kubeResources } from '@dovetail/core-ports';

import type { Command } from './command.js';
import type { StoryStage } from './story-stage.js';
import { attachVolumes } from './volumes.js';

const { disruptions, nodeClaims, nodePools, nodes, pods } = kubeResources;

/** The objects that people delete by name. */
const deletable = { node: nodes, claim: nodeClaims, command: disruptions } as const;

type Taint = { readonly key: string };

const poolLabel = (pool: string): object => ({ [labels.nodePool]: pool });

/** Wants nodes without the label, and keeps the app's pods apart over it, which parts none. */
const withoutLabel = (key: string, app: string): object => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'DoesNotExist' }] }],
    },
  },
  podAntiAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [
      { topologyKey: key, labelSelector: { matchLabels: { [key]: app } } },
    ],
  },
});

const workloads: readonly Command[] = [
  {
    pattern: /^app (?<app>\S+) has volumes$/,
    run: (stage, { app = '' }) => attachVolumes(stage, app),
  },
  {
    pattern:
      /^(?<verb>scale|deploy) (?<app>\S+) (?<count>\d+)(?: cpu=(?<cpu>\S+))?(?: pool=(?<pool>\S+))?(?: key=(?<key>\S+))?$/,
    run: ({ workloads: apps }, { verb, app = '', count, cpu = '1', pool, key }) => {
      const pod = {
        cpu,
        ...(key === undefined ? {} : { labels: { [key]: app } }),
        spec: {
          ...(pool === undefined ? {} : { nodeSelector: poolLabel(pool) }),
          ...(key === undefined ? {} : { affinity: withoutLabel(key, app) }),
        },
      };
      return verb === 'scale'
        ? apps.scale(app, Number(count), pod)
        : apps.deploy(app, Number(count), pod);
    },
  },
  { pattern: /^rollout (?<app>\S+)$/, run: (stage, { app = '' }) => stage.workloads.rollout(app) },
  {
    pattern: /^budget (?<app>\S+) at least (?<count>\d+)$/,
    run: (stage, { app = '', count }) => stage.workloads.budget(app, Number(count)),
  },
  {
    pattern: /^budget (?<app>\S+) none$/,
    run: (stage, { app = '' }) => stage.workloads.noBudget(app),
  },
  {
    pattern: /^budget (?<app>\S+) at most (?<count>\d+)$/,
    run: (stage, { app = '', count }) => stage.workloads.budgetAtMost(app, Number(count)),
  },
  {
    pattern: /^(?<verb>protect|unprotect) (?<app>\S+)$/,
    run: (stage, { verb, app = '' }) => setProtection(stage, app, verb === 'protect'),
  },
  {
    pattern: /^delete pod of (?<app>\S+)$/,
    run: async (stage, { app = '' }) => {
      const [pod] = stage.workloads.podsOf(app);
      stage.workloads.changesByItself(app);
      if (pod === undefined) return;
      const { namespace = '', name } = pod.metadata;
      await stage.kube.delete({ resource: pods, namespace, name });
    },
  },
];

const protection = (isSet: boolean): object => ({
  metadata: { annotations: { 'karpenter.sh/do-not-disrupt': isSet ? 'true' : null } },
});

/** Says of one pod of an app that nothing may move it, or of none any more. */
async function setProtection(stage: StoryStage, app: string, isSet: boolean): Promise<void> {
  const all = stage.workloads.podsOf(app).filter(({ spec }) => spec?.nodeName !== undefined);
  const body = protection(isSet);
  for (const { metadata } of isSet ? all.slice(0, 1) : all) {
    const { namespace = '', name } = metadata;
    await stage.kube.patch({ resource: pods, namespace, name }, { type: 'merge', body });
  }
}

/** Users change pools, nodes and claims, as kubectl would. */
export const userCommands: readonly Command[] = [
  ...workloads,
  {
    pattern: /^label pool (?<name>\S+) (?<key>[A-Za-z]+)=(?<value>\S+)$/,
    run: (stage, { name = '', key = '', value }) => {
      const template = { metadata: { labels: { [key]: value } } };
      return patchPool(stage, name, { template });
    },
  },
  {
    pattern: /^limit pool (?<name>\S+) (?:cpu=(?<cpu>\d+)|none)$/,
    run: (stage, { name = '', cpu }) =>
      patchPool(stage, name, { limits: cpu === undefined ? null : { cpu } }),
  },
  {
    pattern: /^delete (?<kind>node|claim|command) (?<name>\S+)$/,
    run: (stage, { kind, name = '' }) =>
      stage.kube.delete({
        resource: deletable[kind as keyof typeof deletable],
        name: stage.narrator.names.actual(name),
      }),
  },
  {
    pattern: /^(?<verb>protect|unprotect) node (?<name>\S+)$/,
    run: (stage, { verb, name = '' }) =>
      stage.kube.patch(
        { resource: nodes, name: stage.narrator.names.actual(name) },
        { type: 'merge', body: protection(verb === 'protect') },
      ),
  },
  {
    pattern: /^(?<verb>cordon|uncordon) (?<name>\S+)$/,
    run: (stage, { verb, name = '' }) =>
      stage.kube.patch(
        { resource: nodes, name: stage.narrator.names.actual(name) },
        { type: 'merge', body: { spec: { unschedulable: verb === 'cordon' ? true : null } } },
      ),
  },
  {
    pattern: /^(?<verb>taint|untaint) (?<name>\S+)$/,
    run: (stage, { verb, name = '' }) =>
      setTaint(stage, stage.narrator.names.actual(name), verb === 'taint'),
  },
  {
    pattern: /^copy claim (?<name>\S+)$/,
    run: (stage, { name = '' }) => copyClaim(stage, stage.narrator.names.actual(name)),
  },
];

const patchPool = (stage: StoryStage, name: string, spec: object): Promise<KubeObject> =>
  stage.kube.patch({ resource: nodePools, name }, { type: 'merge', body: { spec } });

/** As `kubectl taint` sets or takes off the taint of Karpenter's and our retirements. */
async function setTaint(stage: StoryStage, name: string, isSet: boolean): Promise<void> {
  const node = await stage.kube.get({ resource: nodes, name });
  if (node === undefined) throw new Error(`NotFound: node ${name}`);
  const { taints: held = [] } = (node['spec'] ?? {}) as { readonly taints?: readonly Taint[] };
  const others = held.filter(({ key }) => key !== taints.disrupted.key);
  const body = { spec: { taints: isSet ? [...others, taints.disrupted] : others } };
  await stage.kube.patch({ resource: nodes, name }, { type: 'merge', body });
}

/** The name of the copy that `copy claim` makes. */
export const copyNameOf = (name: string): string => `${name}${copySuffix}`;
/** Whether `copy claim` made the claim of this name. */
export const isCopy = (name: string): boolean => name.endsWith(copySuffix);
const copySuffix = '-copy';

/** As `kubectl get -o yaml`, another name, and `kubectl apply`: all but the status comes along. */
async function copyClaim(stage: StoryStage, name: string): Promise<void> {
  const claim = await stage.kube.get({ resource: nodeClaims, name });
  if (claim === undefined) throw new Error(`NotFound: claim ${name}`);
  const { labels: given = {}, annotations = {}, finalizers = [] } = claim.metadata;
  await stage.kube.create(nodeClaims, {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: { name: copyNameOf(name), labels: given, annotations, finalizers },
    spec: claim['spec'],
  });
}
