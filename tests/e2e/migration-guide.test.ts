import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { kubeResources } from '@dovetail/core-ports';
import { pods } from '@dovetail/test-support/cluster';
import { commandsOf, inShell } from '@dovetail/test-support/guide';
import { deploymentManifest } from '@dovetail/test-support/workload';
import { eventually, openWorld, type TestWorld } from '@dovetail/test-support/world';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/**
 * The commands of the migration guide, as they stand there, in a cluster whose Karpenter is a
 * Deployment and the definitions of a Helm chart. `handover.test.ts` runs Karpenter's program.
 */
const root = join(import.meta.dirname, '..', '..');
const takeOver = await commandsOf('migrate-from-karpenter.md', 'Take over');
const goBack = await commandsOf('migrate-from-karpenter.md', 'Go back');
const theirs = 'Pools of Karpenter';
const ownDescription = '.spec.versions[0].schema.openAPIV3Schema.description';

describe('the commands of the migration guide', () => {
  let at: TestWorld;
  let folder: string;
  const shell = (command: string): Promise<string> =>
    inShell(command, { kubeconfig: at.lab.kubeconfig, folder });
  const described = (): Promise<string> =>
    shell(`kubectl get crd nodepools.karpenter.sh -o jsonpath='{${ownDescription}}'`);
  const replicas = (): Promise<string> =>
    shell("kubectl -n kube-system get deployment karpenter -o jsonpath='{.spec.replicas}'");
  /** The pods that are there; without a node none of them runs. */
  const podsOfKarpenter = async (): Promise<number> => (await pods(at, 'kube-system')).length;

  beforeAll(async () => {
    at = await openWorld({ world: 'twin', servicesLeftOut: true });
    folder = await mkdtemp(join(tmpdir(), 'dovetail-migration-'));
    await symlink(join(root, 'deploy'), join(folder, 'deploy'));
    const file = 'deploy/crds/karpenter.sh_nodepools.yaml';
    const definition = await readFile(join(root, file), 'utf8');
    const described = definition.replace(/(openAPIV3Schema:\n +description: ).*/, `$1${theirs}`);
    await writeFile(join(folder, 'theirs.yaml'), described);
    await shell(
      'kubectl apply --server-side --force-conflicts --field-manager=helm -f theirs.yaml',
    );
    const deployed = deploymentManifest({
      name: 'karpenter',
      replicas: 1,
      cpu: '100m',
      memory: '64Mi',
    });
    await at.kube.putManifests(
      deployed
        .replace('namespace: default', 'namespace: kube-system')
        .replaceAll('app: karpenter', 'app.kubernetes.io/name: karpenter'),
    );
    await shell('kubectl create namespace dovetail');
    await at.kube.putManifests(
      deploymentManifest({
        name: 'dovetail-pod-watcher',
        replicas: 2,
        cpu: '100m',
        memory: '64Mi',
      }).replace('namespace: default', 'namespace: dovetail'),
    );
    await eventually('a pod of Karpenter', async () => (await podsOfKarpenter()) === 1);
  });
  afterAll(async () => {
    await at?.close();
    await rm(folder, { recursive: true, force: true });
  });

  test('stop Karpenter in its own namespace, and show when it is down', async () => {
    const [stop = '', look = ''] = takeOver;
    await shell(stop);
    expect(await replicas()).toBe('0');
    await eventually('no pod of Karpenter', async () => (await shell(look)).trim() === '');
    expect(await podsOfKarpenter()).toBe(0);
  });

  test("keep Karpenter's definitions, and take them over", async () => {
    const [, , keep = '', apply = ''] = takeOver;
    expect(takeOver).toHaveLength(4);
    expect(await described()).toBe(theirs);
    await shell(keep);
    await expect(shell(apply.replace('--force-conflicts ', ''))).rejects.toThrow(/helm/);
    await shell(apply);
    expect(await described()).not.toBe(theirs);
  });

  test('end planning, and name the claims and nodes that are not finished', async () => {
    const [end = '', lookAtClaims = '', lookAtNodes = ''] = goBack;
    await at.kube.create(kubeResources.nodes, {
      metadata: { name: 'closed', annotations: { 'dovetail.sh/placement-cordon': 'now' } },
    });
    await at.kube.create(kubeResources.nodeClaims, {
      metadata: { name: 'under-way' },
      spec: {
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }],
      },
    });
    await shell(end);
    await eventually(
      'no pod of pod-watcher',
      async () => (await pods(at, 'dovetail')).length === 0,
    );
    expect((await shell(lookAtClaims)).trim()).toBe('under-way');
    expect((await shell(lookAtNodes)).trim()).toBe('closed');
  });

  test('give Karpenter its definitions back, and start it', async () => {
    const [, , , uninstall = '', look = '', restore = '', start = ''] = goBack;
    expect(uninstall).toContain('helm uninstall dovetail');
    expect(goBack).toHaveLength(7);
    expect(await shell(look)).toBe('');
    await shell(restore);
    expect(await described()).toBe(theirs);
    await shell(start);
    expect(await replicas()).toBe('2');
    await eventually('both pods of Karpenter', async () => (await podsOfKarpenter()) === 2);
  });
});
