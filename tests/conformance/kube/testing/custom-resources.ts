import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { type KubeObject, type KubeResource, kubeResources } from '@dovetail/core-ports';
import { beforeAll, describe, expect, test } from '@jest/globals';

import { describeWithKubectl } from './kubectl.js';
import { type Context, eventually } from './suite.js';

const folder = new URL('../../../../deploy/crds/', import.meta.url).pathname;
const { nodePools, provisioners, ec2NodeClasses, nodeClaims, events } = kubeResources;

type Spec = Readonly<Record<string, unknown>>;
const classRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };
const pool = (name: string, template: Spec = {}, spec: Spec = {}): KubeObject => ({
  metadata: { name },
  spec: { template: { spec: { nodeClassRef: classRef, requirements: [], ...template } }, ...spec },
});

const badPools: readonly (readonly [string, KubeObject, RegExp])[] = [
  [
    'a weight out of range',
    pool('bad', {}, { weight: 1000 }),
    /spec\.weight: Invalid value: 1000: spec\.weight in body should be less than or equal to 100/,
  ],
  [
    'a budget over 100 %',
    pool('bad', {}, { disruption: { consolidateAfter: '30s', budgets: [{ nodes: '150%' }] } }),
    /spec\.disruption\.budgets\[0\]\.nodes: Invalid value: "150%": spec\.disruption\.budgets\[0\]\.nodes in body should match/,
  ],
  [
    'an operator that there is not',
    pool('bad', { requirements: [{ key: 'a', operator: 'Near' }] }),
    /operator: Unsupported value: "Near": supported values: "In", "NotIn", "Exists"/,
  ],
  [
    'In without values',
    pool('bad', { requirements: [{ key: 'a', operator: 'In' }] }),
    /spec\.template\.spec\.requirements: Invalid value: "array": requirements with operator 'In' must have a value defined/,
  ],
  [
    'Gt of a word',
    pool('bad', { requirements: [{ key: 'a', operator: 'Gt', values: ['x'] }] }),
    /type conversion error from 'string' to 'int' evaluating rule/,
  ],
  [
    'a key that is ours',
    pool('bad', {
      requirements: [{ key: 'karpenter.sh/nodepool', operator: 'In', values: ['a'] }],
    }),
    /requirements\[0\]\.key: Invalid value: "string": label "karpenter\.sh\/nodepool" is restricted/,
  ],
  [
    'no node class',
    { metadata: { name: 'bad' }, spec: { template: { spec: { requirements: [] } } } },
    /spec\.template\.spec\.nodeClassRef: Required value/,
  ],
  [
    'a number as text',
    pool('bad', {}, { weight: '7' }),
    /spec\.weight in body must be of type integer: "string"/,
  ],
];

function validation({ world }: Context): void {
  test.each(badPools.map((row) => [...row] as const))(
    '%s is refused with its field and why',
    async (_what, object, message) => {
      await expect(world().kube.create(nodePools, object)).rejects.toMatchObject({
        code: 'invalid',
        message: expect.stringMatching(message) as unknown,
      });
    },
  );

  test('defaults are filled in, unknown fields are dropped', async () => {
    const { kube } = world();
    const made = await kube.create(nodePools, pool('defaulted', {}, { unknown: 1 }));
    expect(made).toMatchObject({
      metadata: { generation: 1 },
      spec: {
        disruption: {
          budgets: [{ nodes: '10%' }],
          consolidationPolicy: 'WhenEmptyOrUnderutilized',
        },
        template: { spec: { expireAfter: '720h' } },
      },
    });
    expect(made['spec']).not.toHaveProperty('unknown');
  });

  test('rules about change hold: a pool keeps the group of its class, a claim its whole spec', async () => {
    const { kube } = world();
    await kube.create(nodePools, pool('changing'));
    const other = {
      spec: { template: { spec: { nodeClassRef: { ...classRef, group: 'example.com' } } } },
    };
    await expect(
      kube.patch({ resource: nodePools, name: 'changing' }, { type: 'merge', body: other }),
    ).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringContaining('nodeClassRef.group is immutable') as unknown,
    });
    await kube.create(nodeClaims, {
      metadata: { name: 'fixed' },
      spec: { nodeClassRef: classRef, requirements: [] },
    });
    await expect(
      kube.patch(
        { resource: nodeClaims, name: 'fixed' },
        { type: 'merge', body: { spec: { expireAfter: '1h' } } },
      ),
    ).rejects.toMatchObject({ code: 'invalid' });
    await kube.delete({ resource: nodeClaims, name: 'fixed' });
  });

  test('the status is its subresource: it neither comes with the object nor counts as a new generation', async () => {
    const { kube } = world();
    const made = await kube.create(nodePools, { ...pool('with-status'), status: { nodes: 3 } });
    expect(made).not.toHaveProperty('status');
    const ref = { resource: nodePools, name: 'with-status' };
    expect(
      await kube.patch(
        ref,
        { type: 'merge', body: { status: { resources: { cpu: '4' } }, spec: { weight: 5 } } },
        { subresource: 'status' },
      ),
    ).toMatchObject({ metadata: { generation: 1 }, status: { resources: { cpu: '4' } } });
    expect(await kube.patch(ref, { type: 'merge', body: { spec: { weight: 5 } } })).toMatchObject({
      metadata: { generation: 2 },
      status: { resources: { cpu: '4' } },
    });
  });
}

const terms = [{ tags: { a: 'b' } }];
const reservation = {
  id: 'cr-1',
  instanceType: 'm5.large',
  availabilityZone: 'us-west-2a',
  instanceMatchCriteria: 'open',
  ownerID: '123456789012',
  endTime: '2026-01-01T00:00:00Z',
  interruptible: false,
};
const holds = (type: string): object => ({
  type,
  status: 'True',
  reason: type,
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
  observedGeneration: 1,
});

const statuses: readonly (readonly [string, KubeResource, object, object])[] = [
  [
    'EC2NodeClass',
    ec2NodeClasses,
    {
      role: 'r',
      subnetSelectorTerms: terms,
      securityGroupSelectorTerms: terms,
      amiSelectorTerms: [{ alias: 'al2023@latest' }],
    },
    {
      capacityReservations: [
        { ...reservation, reservationType: 'capacity-block', state: 'expiring' },
      ],
      instanceProfile: 'p',
      conditions: [holds('PlacementGroupReady'), holds('Ready')],
    },
  ],
  [
    'NodePool',
    nodePools,
    pool('x')['spec'] as object,
    {
      nodes: 2,
      nodeClassObservedGeneration: 3,
      resources: { cpu: '8' },
      conditions: [holds('NodeRegistrationHealthy')],
    },
  ],
  [
    'NodeClaim',
    nodeClaims,
    { nodeClassRef: classRef, requirements: [] },
    {
      nodeName: 'n',
      providerID: 'aws:///a/i-1',
      lastPodEventTime: '2026-01-01T00:00:00Z',
      conditions: [holds('ConsistentStateFound'), holds('DisruptionReason')],
    },
  ],
  [
    'Provisioner',
    provisioners,
    { providerRef: { name: 'default' } },
    {
      lastScaleTime: '2026-01-01T00:00:00Z',
      resources: { cpu: '8' },
      conditions: [holds('Active')],
    },
  ],
];

function statusTests({ world }: Context): void {
  test.each(statuses.map((row) => [...row] as const))(
    "the status of a %s keeps each field that Karpenter's has",
    async (kind, resource, spec, status) => {
      const { kube } = world();
      const ref = { resource, name: `status-of-${kind.toLowerCase()}` };
      await kube.create(resource, { metadata: { name: ref.name }, spec } as KubeObject);
      expect(
        (await kube.patch(ref, { type: 'merge', body: { status } }, { subresource: 'status' }))[
          'status'
        ],
      ).toEqual(status);
      await kube.delete(ref);
    },
  );
}

function printing({ world }: Context): void {
  test('kubectl applies the definitions over those that are there, and waits until they are established', async () => {
    const { kubectl } = world();
    expect(
      await kubectl(['apply', '--server-side', '--force-conflicts', '-f', folder]),
    ).toMatchObject({
      code: 0,
      out: expect.stringContaining('nodepools.karpenter.sh serverside-applied') as unknown,
    });
    expect(
      await kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=20s']),
    ).toMatchObject({ code: 0 });
  });

  test('kubectl shows the printer columns, the wide ones too', async () => {
    const { kubectl, kube } = world();
    await kube.create(nodeClaims, {
      metadata: {
        name: 'printed',
        labels: { 'karpenter.sh/nodepool': 'p', 'node.kubernetes.io/instance-type': 'm5.large' },
      },
      spec: { nodeClassRef: classRef, requirements: [] },
    });
    const { out } = await kubectl(['get', 'nodeclaims.karpenter.sh', 'printed', '-o', 'wide']);
    const [header = '', row = ''] = out.split('\n');
    expect(header.split(/\s{2,}/).map((name) => name.trim())).toEqual(
      expect.arrayContaining([
        'NAME',
        'TYPE',
        'CAPACITY',
        'ZONE',
        'NODE',
        'READY',
        'AGE',
        'IMAGEID',
        'ID',
        'NODEPOOL',
        'NODECLASS',
      ]),
    );
    expect(row).toMatch(/^printed\s+m5\.large\s/);
    await kube.delete({ resource: nodeClaims, name: 'printed' });
  });

  test('kubectl describes a pool: its fields in words, its conditions and its events', async () => {
    const { kubectl, kube } = world();
    const made = await kube.create(
      nodePools,
      pool('described', { expireAfter: '336h' }, { weight: 7, limits: { cpu: '100' } }),
    );
    const ready = {
      type: 'Ready',
      status: 'True',
      reason: 'Ready',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    await kube.patch(
      { resource: nodePools, name: 'described' },
      { type: 'merge', body: { status: { conditions: [ready] } } },
      { subresource: 'status' },
    );
    const now = new Date().toISOString().replace(/\.\d+Z/, 'Z');
    await kube.create(events, {
      metadata: { name: 'described.1', namespace: 'default' },
      type: 'Warning',
      reason: 'NoCompatibleInstanceTypes',
      message: 'nothing fits',
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
      source: { component: 'conformance' },
      involvedObject: {
        apiVersion: 'karpenter.sh/v1',
        kind: 'NodePool',
        name: 'described',
        uid: made.metadata.uid,
      },
    } as KubeObject);
    const { code, out } = await kubectl(['describe', 'nodepools.karpenter.sh', 'described']);
    const words = out.split('\n').map((line) => line.trim().replace(/\s+/g, ' '));
    expect(words).toEqual(
      expect.arrayContaining([
        'Name: described',
        'Namespace:',
        'API Version: karpenter.sh/v1',
        'Kind: NodePool',
        'Weight: 7',
        'Cpu: 100',
        'Expire After: 336h',
        'Node Class Ref:',
        'Group: karpenter.k8s.aws',
        'Consolidation Policy: WhenEmptyOrUnderutilized',
        'Nodes: 10%',
        'Last Transition Time: 2026-01-01T00:00:00Z',
        'Status: True',
        'Type Reason Age From Message',
      ]),
    );
    expect(out).toMatch(
      /Warning\s+NoCompatibleInstanceTypes\s+\S+\s+conformance\s+nothing fits\n$/,
    );
    expect(code).toBe(0);
    await kube.delete({ resource: nodePools, name: 'described' });
  });

  test('get nodepools -w shows the columns of the definition, and a change', async () => {
    const { kubectl, kube } = world();
    await kube.create(nodePools, pool('watched'));
    const watching = kubectl.start(['get', 'nodepools.karpenter.sh', 'watched', '-w']);
    const seen = (pattern: RegExp): Promise<string> =>
      eventually(
        () => Promise.resolve(watching.out()),
        (out) => pattern.test(out),
      );
    try {
      expect(await seen(/watched/)).toMatch(
        /^NAME\s+NODECLASS\s+NODES\s+READY\s+AGE\nwatched\s+default\s+\d*s\n$/,
      );
      await kube.patch(
        { resource: nodePools, name: 'watched' },
        { type: 'merge', body: { status: { nodes: 3 } } },
        { subresource: 'status' },
      );
      expect(await seen(/watched\s+default\s+3/)).toMatch(/\nwatched\s+default\s+3\s+\d+s\n$/);
    } finally {
      await watching.end();
      await kube.delete({ resource: nodePools, name: 'watched' });
    }
  });
}

/** Custom resources of our own definitions. */
export function customResources(context: Context): void {
  describe('custom resources', () => {
    beforeAll(async () => {
      const { kube } = context.world();
      const files = (await readdir(folder)).filter((name) => name.endsWith('.yaml'));
      expect(files.length).toBeGreaterThan(0);
      for (const file of files) await kube.putManifests(await readFile(join(folder, file), 'utf8'));
      await eventually(
        async () =>
          (await kube.serves(nodePools)) &&
          (await kube.serves(ec2NodeClasses)) &&
          (await kube.serves(nodeClaims)),
        (served) => served,
      );
    }, 60_000);
    validation(context);
    statusTests(context);
    describeWithKubectl('with kubectl', () => printing(context));
  });
}
