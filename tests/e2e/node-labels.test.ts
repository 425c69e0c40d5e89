import { kubeResources } from '@dovetail/core-ports';
import { claims, ourNodes, untilRunning } from '@dovetail/test-support/cluster';
import { podObject, poolReady } from '@dovetail/test-support/placement';
import { poolManifest } from '@dovetail/test-support/workload';
import { openWorld, type TestWorld, worlds } from '@dovetail/test-support/world';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const aws = (name: string): string => `karpenter.k8s.aws/${name}`;

/** The well-known labels of Karpenter 1.14 on the Linux nodes of each type, in us-west-2. */
const cases = [
  [
    'm5d.large',
    {
      'node.kubernetes.io/instance-type': 'm5d.large',
      'kubernetes.io/arch': 'amd64',
      'kubernetes.io/os': 'linux',
      'topology.kubernetes.io/region': 'us-west-2',
      'topology.kubernetes.io/zone': expect.stringMatching(/^us-west-2[a-d]$/),
      'topology.k8s.aws/zone-id': expect.stringMatching(/^usw2-az[1-4]$/),
      'karpenter.sh/capacity-type': 'on-demand',
      'karpenter.sh/nodepool': 'default',
      [aws('ec2nodeclass')]: 'default',
      [aws('instance-category')]: 'm',
      [aws('instance-family')]: 'm5d',
      [aws('instance-generation')]: '5',
      [aws('instance-size')]: 'large',
      [aws('instance-cpu')]: '2',
      [aws('instance-cpu-manufacturer')]: 'intel',
      [aws('instance-cpu-sustained-clock-speed-mhz')]: '3100',
      [aws('instance-memory')]: '8192',
      [aws('instance-ebs-bandwidth')]: '4750',
      [aws('instance-network-bandwidth')]: '750',
      [aws('instance-local-nvme')]: '75',
      [aws('instance-hypervisor')]: 'nitro',
      [aws('instance-encryption-in-transit-supported')]: 'false',
      [aws('instance-capability-flex')]: 'false',
      [aws('instance-tenancy')]: 'default',
    },
  ],
  [
    'g4dn.xlarge',
    {
      [aws('instance-gpu-name')]: 't4',
      [aws('instance-gpu-manufacturer')]: 'nvidia',
      [aws('instance-gpu-count')]: '1',
      [aws('instance-gpu-memory')]: '16384',
      [aws('instance-encryption-in-transit-supported')]: 'true',
    },
  ],
  [
    'inf2.xlarge',
    {
      [aws('instance-accelerator-name')]: 'inferentia2',
      [aws('instance-accelerator-manufacturer')]: 'aws',
      [aws('instance-accelerator-count')]: '1',
    },
  ],
] as const;

/** A pool of dedicated hosts beside the other. */
const dedicatedPool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: { name: dedicated }
spec:
  template:
    spec:
      nodeClassRef: { group: karpenter.k8s.aws, kind: EC2NodeClass, name: default }
      requirements:
        - { key: karpenter.k8s.aws/instance-tenancy, operator: In, values: [dedicated] }
        - { key: node.kubernetes.io/instance-type, operator: In, values: [m5.large] }
`;

/** Labels that a node of such a type must not have, because the type has no such part. */
const absent = {
  'm5d.large': ['instance-gpu-name', 'instance-accelerator-name', 'capacity-reservation-id'],
  'g4dn.xlarge': ['instance-accelerator-name', 'placement-group-id'],
  'inf2.xlarge': ['instance-gpu-name', 'instance-local-nvme'],
};

describe.each(await worlds())('a node on the %s world', (kind) => {
  let world: TestWorld;
  beforeAll(async () => {
    world = await openWorld({ world: kind });
    const names = cases.map(([name]) => name);
    await world.kube.putManifests(
      poolManifest({ clusterName: 'lab', instanceTypes: names }).replace(
        'values: [c, m, r]',
        'values: [m, g, inf]',
      ),
    );
    await poolReady(world);
    for (const name of names)
      await world.kube.create(
        kubeResources.pods,
        podObject(
          name.replace('.', '-'),
          { cpu: '1' },
          { nodeSelector: { 'node.kubernetes.io/instance-type': name } },
        ),
      );
    await untilRunning(world, 'default', names.length, 90_000);
  });
  afterAll(() => world.close());

  test.each(cases)('of type %s has every well-known label of its type', async (name, labels) => {
    const node = (await ourNodes(world)).find(
      ({ metadata }) => metadata.labels?.['node.kubernetes.io/instance-type'] === name,
    );
    expect(node?.metadata.labels).toMatchObject(labels);
    const own = Object.keys(node?.metadata.labels ?? {});
    expect(absent[name].filter((label) => own.includes(aws(label)))).toEqual([]);
  });

  test('is on a dedicated host where its pool says so, at the price of one', async () => {
    await world.kube.putManifests(dedicatedPool);
    await poolReady(world);
    const nodeSelector = { [aws('instance-tenancy')]: 'dedicated' };
    await world.kube.create(kubeResources.pods, podObject('alone', { cpu: '1' }, { nodeSelector }));
    await untilRunning(world, 'default', cases.length + 1, 90_000);
    const claim = (await claims(world)).find(
      ({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] === 'dedicated',
    );
    const node = (await ourNodes(world)).find(
      ({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] === 'dedicated',
    );
    expect(node?.metadata.labels).toMatchObject(nodeSelector);
    // m5.large costs 0.096 on shared hosts, and the twin adds a tenth.
    expect(claim?.metadata.annotations?.['dovetail.sh/price-per-hour']).toMatch(/^~?0\.1056/);
    const machines = await world.cloud<readonly { tenancy: string; privateDnsName: string }[]>(
      'GET',
      'instances',
    );
    expect(
      machines.map(({ tenancy, privateDnsName }) => [
        tenancy,
        privateDnsName === node?.metadata.name,
      ]),
    ).toEqual(
      expect.arrayContaining([
        ['dedicated', true],
        ['default', false],
      ]),
    );
  });
});
