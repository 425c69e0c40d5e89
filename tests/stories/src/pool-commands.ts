import { kubeResources } from '@dovetail/core-ports';
import { nodePoolObject } from '@dovetail/sim-stage';

import type { Command } from './command.js';

const { nodePools } = kubeResources;

type Pool = ReadonlyMap<string, string>;

const settingsIn = (text = ''): Pool =>
  new Map(
    text
      .trim()
      .split(' ')
      .filter((each) => each !== '')
      .map((each) => each.split('=') as [string, string]),
  );

function policyOf(set: Pool): string {
  const fallback = set.has('consolidate') ? 'WhenEmptyOrUnderutilized' : 'WhenEmpty';
  return set.get('policy') ?? fallback;
}

function requirementsOf(set: Pool): readonly object[] {
  const oneOf = (key: string, values: string): object => ({
    key,
    operator: 'In',
    values: values.split(','),
  });
  const types = set.get('types') ?? 'm5.large,m5.xlarge,m5.2xlarge';
  return [
    oneOf('karpenter.sh/capacity-type', set.get('capacity') ?? 'on-demand'),
    ...(types === 'any' ? [] : [oneOf('node.kubernetes.io/instance-type', types)]),
  ];
}

/**
 * Settings: capacity (on-demand, spot), types (comma between, or any), expire, class, grace (of the
 * drain), limit (of vCPUs), weight, budget (nodes that may be disrupted), policy, and after how
 * long nodes go that are empty, or also under-used ones (consolidate).
 */
const makePool: Command['run'] = (stage, { name = '', settings }) => {
  const set = settingsIn(settings);
  const given = (key: string, field: string, value: unknown): object =>
    set.has(key) ? { [field]: value } : {};
  const object = nodePoolObject(name, {
    node: {
      expireAfter: set.get('expire') ?? 'Never',
      nodeClassRef: {
        group: 'karpenter.k8s.aws',
        kind: 'EC2NodeClass',
        name: set.get('class') ?? 'default',
      },
      requirements: requirementsOf(set),
      ...given('grace', 'terminationGracePeriod', set.get('grace')),
    },
    disruption: {
      consolidationPolicy: policyOf(set),
      consolidateAfter: set.get('consolidate') ?? set.get('empty') ?? 'Never',
      budgets: [{ nodes: set.get('budget') ?? '100%' }],
    },
    spec: {
      ...given('limit', 'limits', { cpu: set.get('limit') }),
      ...given('weight', 'weight', Number(set.get('weight'))),
    },
  });
  return stage.kube.create(nodePools, object);
};

/** Pools, as their owner makes and changes them. */
export const poolCommands: readonly Command[] = [
  { pattern: /^pool (?<name>\S+)(?<settings>( \w+=\S+)*)$/, run: makePool },
  {
    pattern: /^set pool (?<name>\S+) budget=(?<nodes>\S+)$/,
    run: (stage, { name = '', nodes }) =>
      stage.kube.patch(
        { resource: nodePools, name },
        { type: 'merge', body: { spec: { disruption: { budgets: [{ nodes }] } } } },
      ),
  },
  {
    pattern: /^set pool (?<name>\S+) policy=(?<policy>\S+)$/,
    run: (stage, { name = '', policy }) =>
      stage.kube.patch(
        { resource: nodePools, name },
        { type: 'merge', body: { spec: { disruption: { consolidationPolicy: policy } } } },
      ),
  },
];
