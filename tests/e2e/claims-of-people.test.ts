import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { claims, instances, nodes, ourNodes, untilRunning } from '@dovetail/test-support/cluster';
import { poolReady } from '@dovetail/test-support/placement';
import { deploymentManifest, poolManifest } from '@dovetail/test-support/workload';
import { eventually, openWorld, type TestWorld, worlds } from '@dovetail/test-support/world';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** A NodeClaim without a pool, as a person applies it. */
const claimManifest = `
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: { name: mine, labels: { owner: alice } }
spec:
  nodeClassRef: { group: karpenter.k8s.aws, kind: EC2NodeClass, name: default }
  requirements:
    - { key: node.kubernetes.io/instance-type, operator: In, values: [c5.large] }
    - { key: karpenter.sh/capacity-type, operator: In, values: [on-demand] }
  resources: { requests: { cpu: "1" } }
  expireAfter: Never
`;

describe.each(await worlds())('nodes that people make and delete, on the %s world', (world) => {
  let at: TestWorld;
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'claims-of-people-'));
    at = await openWorld({ world });
    await at.kube.putManifests(poolManifest({ clusterName: 'lab', instanceTypes: ['c5.large'] }));
    await poolReady(at);
  });
  afterAll(async () => {
    await at?.close();
    await rm(dir, { recursive: true, force: true });
  });

  test('a NodeClaim without a pool is launched, registered and ended with kubectl', async () => {
    const file = join(dir, 'claim.yaml');
    await writeFile(file, claimManifest);
    await at.kubectl('apply', '-f', file);
    await at.kubectl('wait', '--for=condition=Ready', 'nodeclaim/mine', '--timeout=60s');
    const [node] = (await nodes(at)).filter(
      ({ metadata }) => metadata.labels?.['owner'] === 'alice',
    );
    expect(node?.metadata.labels).toMatchObject({
      'karpenter.sh/initialized': 'true',
      'node.kubernetes.io/instance-type': 'c5.large',
    });
    await at.kubectl('delete', 'nodeclaim/mine', '--timeout=60s');
    expect([await claims(at), await instances(at)]).toEqual([[], []]);
    expect((await nodes(at)).map(({ metadata }) => metadata.name)).not.toContain(
      node?.metadata.name,
    );
  });

  test.each(['node', 'nodeclaim'])(
    'the pods of a %s that a person deletes get a new node before they are evicted',
    async (kind) => {
      await at.kube.putManifests(
        deploymentManifest({ name: 'load', cpu: '1500m', memory: '100Mi', replicas: 1 }),
      );
      await untilRunning(at, 'default', 1);
      const [old] = await ourNodes(at);
      const [claim] = await claims(at);
      const name = kind === 'node' ? old?.metadata.name : claim?.metadata.name;
      await at.kubectl('delete', `${kind}/${name ?? ''}`, '--timeout=90s');
      await untilRunning(at, 'default', 1);
      const about = at.decisions.all.map(({ kind: what, claimName }) => ({ what, claimName }));
      const replaced = about.findLastIndex(({ what }) => what === 'launch');
      const drained = about.findIndex(
        ({ what, claimName }) => what === 'drain' && claimName === claim?.metadata.name,
      );
      expect(about[replaced]?.claimName).not.toBe(claim?.metadata.name);
      expect(replaced).toBeLessThan(drained);
      // A Node goes before its NodeClaim does.
      await eventually('one claim', async () => (await claims(at)).length === 1);
    },
  );
});
