import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { type KubeObject, type KubeResource } from '@dovetail/core-ports';
import { beforeAll, describe, expect, test } from 'vitest';

import { describeWithKubectl } from './kubectl.js';
import {
  classRef,
  definitions,
  ec2NodeClasses,
  nodeClaims,
  nodePools,
  pool,
  provisioners,
} from './pools.js';
import { printing } from './printed-columns.js';
import { type Context, eventually } from './suite.js';

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

  test('a null where the schema allows none is dropped', async () => {
    const { kube } = world();
    const nulls = { limits: { cpu: null, memory: '1Gi' }, weight: null };
    const made = await kube.create(nodePools, pool('with-nulls', {}, nulls));
    expect(made['spec']).toMatchObject({ limits: { memory: '1Gi' } });
    expect(made['spec']).not.toHaveProperty('limits.cpu');
    expect(made['spec']).not.toHaveProperty('weight');
  });

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

/** Custom resources of our own definitions. */
export function customResources(context: Context): void {
  describe('custom resources', () => {
    beforeAll(async () => {
      const { kube } = context.world();
      const files = (await readdir(definitions)).filter((name) => name.endsWith('.yaml'));
      expect(files.length).toBeGreaterThan(0);
      for (const file of files)
        await kube.putManifests(await readFile(join(definitions, file), 'utf8'));
      await eventually(
        async () =>
          (await kube.serves(nodePools)) &&
          (await kube.serves(ec2NodeClasses)) &&
          (await kube.serves(nodeClaims)),
        (served) => served,
      );
    });
    validation(context);
    statusTests(context);
    describeWithKubectl('with kubectl', () => printing(context));
  });
}
