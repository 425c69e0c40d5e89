import {
  type DaemonSet,
  formatResources,
  type Pod,
  type PodAffinityTerm,
} from '@dovetail/core-kube-model';
import { stringify } from 'yaml';

const pool = {
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'default' },
  spec: {
    template: {
      spec: {
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        requirements: [
          { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] },
          { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
        ],
      },
    },
  },
};

const labelSelector = (app: string): object => ({ labelSelector: { matchLabels: { app } } });

/** The rules of a deployment's pods, which all select their own app. */
function rulesOf(app: string, pod: Pod | undefined): object {
  const spread = (pod?.topologySpread ?? []).map(({ selector: _own, ...constraint }) => ({
    ...constraint,
    ...labelSelector(app),
  }));
  const apart = (pod?.requiredPodAntiAffinity ?? []).map(({ topologyKey }: PodAffinityTerm) => ({
    topologyKey,
    ...labelSelector(app),
  }));
  return {
    ...(spread.length === 0 ? {} : { topologySpreadConstraints: spread }),
    ...(apart.length === 0
      ? {}
      : {
          affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: apart } },
        }),
  };
}

/** A world's pods as Deployments. */
function deploymentsOf(pods: readonly Pod[]): readonly object[] {
  const apps = new Map<string, Pod[]>();
  for (const pod of pods) {
    const app = pod.labels['app'] ?? '';
    apps.set(app, [...(apps.get(app) ?? []), pod]);
  }
  return [...apps].map(([app, replicas]) => {
    const { pods: _slots, ...requests } = replicas[0]?.requests ?? {};
    const spec = {
      containers: [
        { name: 'main', image: 'app', resources: { requests: formatResources(requests) } },
      ],
      ...rulesOf(app, replicas[0]),
    };
    return {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: app, namespace: 'default' },
      spec: {
        replicas: replicas.length,
        selector: { matchLabels: { app } },
        template: { metadata: { labels: { app } }, spec },
      },
    };
  });
}

/** A daemonset of kube-system that every node runs. */
const daemonSetOf = ({ name, template }: DaemonSet): object => {
  const { pods: _slots, ...requests } = template.requests;
  const container = {
    name: 'main',
    image: name,
    resources: { requests: formatResources(requests) },
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name, namespace: 'kube-system' },
    spec: {
      selector: { matchLabels: { name } },
      template: {
        metadata: { labels: { name } },
        spec: { tolerations: [{ operator: 'Exists' }], containers: [container] },
      },
    },
  };
};

/** Generated pods as manifests: a pool for them, Deployments, and daemonsets. */
export function manifestsOf(
  pods: readonly Pod[],
  daemonSets: readonly DaemonSet[] = [],
): { readonly text: string; readonly deployments: number } {
  const deployments = deploymentsOf(pods);
  const objects = [pool, ...deployments, ...daemonSets.map(daemonSetOf)];
  return {
    text: objects.map((object) => stringify(object)).join('---\n'),
    deployments: deployments.length,
  };
}
