import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Decision } from '@dovetail/contracts';
import { kubeResources } from '@dovetail/core-ports';
import { watchAvailable, watchNodes } from '@dovetail/test-support/availability';
import {
  addForeignNode,
  claims,
  events,
  instances,
  nodes,
  runningPods,
  untilNothingLeft,
  untilRunning,
} from '@dovetail/test-support/cluster';
import { commandsOf, inShell } from '@dovetail/test-support/guide';
import { createPods, podObject } from '@dovetail/test-support/placement';
import { logged, serviceOf } from '@dovetail/test-support/service-view';
import { poolManifest } from '@dovetail/test-support/workload';
import { eventually, openWorld, type TestWorld, worlds } from '@dovetail/test-support/world';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..', '..');

/** How often SSM was asked for images. */
async function imagesAsked(at: TestWorld): Promise<number> {
  const counts = await at.cloud<readonly { action: string; calls: number }[]>('GET', 'calls');
  return counts.find(({ action }) => action === 'ssm:GetParameter')?.calls ?? 0;
}

describe.each(await worlds())('scenario expiry-upgrade on the %s world', (world) => {
  let at: TestWorld;
  beforeAll(async () => {
    at = await openWorld({
      world,
      region: 'us-west-2',
      zones: ['us-west-2a', 'us-west-2b', 'us-west-2d'],
      kubernetesVersion: '1.33',
    });
    // The nodes are there when the TTL comes: users append it to roll them after an upgrade.
    const provisioner = await readFile(
      join(root, 'tests/scenarios/expiry-upgrade/provisioner.yaml'),
      'utf8',
    );
    await at.kube.putManifests(
      provisioner
        .replace(/ {2}ttlSecondsUntilExpired: .*\n/, '')
        .replaceAll('${CLUSTER_NAME}', at.lab.options.clusterName),
    );
    await at.applyScenario('expiry-upgrade', ['pdb.yaml', 'workload.yaml']);
    await untilRunning(at, 'default', 3);
  });
  afterAll(async () => at?.close());

  test('the budget in its older form is refused by kubectl, as by every API server since 1.25, and simulate reads it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dovetail-expiry-'));
    const scenario = join(root, 'tests/scenarios/expiry-upgrade');
    const budget = await readFile(join(scenario, 'pdb.yaml'), 'utf8');
    const file = join(folder, 'pdb.yaml');
    await writeFile(file, budget.replace('policy/v1', 'policy/v1beta1'));
    await expect(at.kubectl('apply', '-f', file)).rejects.toThrow(
      'no matches for kind "PodDisruptionBudget" in version "policy/v1beta1"',
    );
    await inShell(`cp ${scenario}/{provisioner,workload}.yaml ${folder}`, at.lab);
    const plan = await inShell(`npx dovetail simulate -f ${folder} --region us-west-2`, at.lab);
    await rm(folder, { recursive: true });
    expect(plan).toMatch(/3 of 3 pods placed/);
  });

  test('at 1800 s of age the node is replaced by one of the new version: closed, drained and deleted, and never fewer than two of the three pods are available', async () => {
    const [old] = await instances(at);
    expect(old?.kubernetesVersion).toBe('1.33');
    const [oldName, onOld] = [old?.privateDnsName ?? '', await podNames(at)];
    await at.cloud('POST', 'cluster', { version: '1.34' });
    await at.lab.advanceClock(600_000);
    const launcher = await serviceOf(at.lab, 'launcher');
    await eventually('the launcher to find the new version', async () =>
      (await logged(launcher, 'cluster-discovered')).some(
        ({ kubernetesVersion }) => kubernetesVersion === '1.34',
      ),
    );
    // Images that were asked for before that may be those of the old version.
    const asked = await imagesAsked(at);
    await at.lab.advanceClock(301_000);
    await eventually(
      'the launcher to ask for the images of the new version',
      async () => (await imagesAsked(at)) > asked,
    );
    await at.applyScenario('expiry-upgrade', ['provisioner.yaml']);
    const [available, seen] = [await watchAvailable(at, 'app=inflate'), await watchNodes(at)];
    expect(available.now()).toBe(3);
    await at.lab.advanceClock(900_000);
    await eventually(
      'a node of the new version with all pods, and the old one gone',
      async () => {
        const live = await instances(at);
        return (
          live.length === 1 &&
          live[0]?.instanceId !== old?.instanceId &&
          live[0]?.kubernetesVersion === '1.34' &&
          available.now() === 3 &&
          seen.gone.has(oldName)
        );
      },
      180_000,
    );
    await Promise.all([available.close(), seen.close()]);
    expect(available.fewest()).toBe(2);
    expect(seen.closed).toContain(oldName);
    expect(await evicted(at, 'expired', onOld.length)).toEqual(onOld);
    expect(await runningPods(at, 'default')).toHaveLength(3);
    const [node, ...others] = await nodes(at);
    expect(others).toEqual([]);
    expect(node?.status?.nodeInfo?.kubeletVersion).toMatch(/^v1\.34/);
    for (const kind of ['disrupt', 'drain', 'terminate'] as const) {
      const [decision, ...more] = await told(at, kind, old?.instanceId);
      expect(more).toEqual([]);
      expect(decision?.facts).toMatchObject({ cause: 'expired', node: oldName });
    }
  });

  test('deleting the Provisioner deletes its nodes, gracefully: pods are evicted as their budget allows, and the node waits for them', async () => {
    const [[instance], all] = [await instances(at), await podNames(at)];
    const name = instance?.privateDnsName ?? '';
    const seen = await watchNodes(at);
    await at.kubectl('delete', 'provisioner', 'default', '--wait=false');
    await eventually('an eviction that the budget forbids', async () =>
      (await events(at)).some(
        ({ reason, message, involvedObject }) =>
          reason === 'FailedDraining' &&
          involvedObject?.name === name &&
          /evicting pod .* was refused/.test(message ?? ''),
      ),
    );
    expect(await evicted(at, 'deleted', 1)).toHaveLength(1);
    expect(await runningPods(at, 'default')).toHaveLength(2);
    expect((await instances(at)).map(({ instanceId }) => instanceId)).toEqual([
      instance?.instanceId,
    ]);
    expect(await told(at, 'drain', instance?.instanceId, 0)).toEqual([]);
    // No Provisioner is left to make room elsewhere, and the budget keeps the last two pods in
    // place for ever. A graceful end waits for them, so the node stays until someone lifts the
    // budget.
    await at.kubectl('delete', 'pdb', 'inflate-pdb');
    await untilNothingLeft(at, 120_000);
    await seen.close();
    expect(seen.closed).toContain(name);
    expect(await evicted(at, 'deleted', all.length)).toEqual(all);
    for (const kind of ['drain', 'terminate'] as const)
      expect((await told(at, kind, instance?.instanceId)).map(({ facts }) => facts)).toMatchObject([
        { cause: 'deleted', node: name },
      ]);
    expect((await at.kubectl('get', 'provisioners')).trim()).toBe('');
  });

  test('uninstalling, as docs/guides/deploy.md says it, leaves no instance, launch template or finalizer behind, and all of another provider', async () => {
    await at.applyScenario('expiry-upgrade', ['provisioner.yaml']);
    await at.kube.putManifests(
      poolManifest({ clusterName: 'lab' }).replace(
        '  template:\n',
        '  template:\n    metadata: { labels: { of: pool } }\n',
      ),
    );
    await createPods(at, [
      podObject('of-the-pool', { cpu: '1' }, { nodeSelector: { of: 'pool' } }),
    ]);
    await addForeignNode(at, { name: 'base', labels: {} });
    await untilRunning(at, 'default', 4, 120_000);
    expect(
      (await claims(at))
        .flatMap(({ metadata }) => metadata.ownerReferences?.map(({ kind }) => kind) ?? [])
        .toSorted(),
    ).toEqual(['NodePool', 'Provisioner']);
    expect(await templates(at)).not.toEqual([]);
    expect((await finalizers(at)).length).toBeGreaterThanOrEqual(5);

    await at.kube.create(kubeResources.nodePools, foreignPool);
    await at.kube.create(kubeResources.nodeClaims, foreignClaim);

    const commands = await commandsOf('deploy.md', 'Uninstall');
    expect(commands.map((command) => command.split(/\s/, 1)[0])).toEqual(programs);
    for (const command of commands) {
      if (command.startsWith('aws')) await templatesGone(at);
      else if (command.startsWith('helm')) await stopServices(at);
      else await inShell(command, at.lab);
      if (command.includes('delete --ignore-not-found --timeout'))
        expect(await instances(at)).toEqual([]);
    }
    expect(await instances(at)).toEqual([]);
    expect(await templates(at)).toEqual([]);
    expect(await finalizers(at)).toEqual(['NodeClaim auto-1: karpenter.sh/termination']);
    expect((await nodes(at)).map(({ metadata }) => metadata.name)).toEqual(['base']);
    const pools = await at.list(kubeResources.nodePools);
    expect(pools.map(({ metadata }) => [metadata.name, metadata.deletionTimestamp])).toEqual([
      ['auto', undefined],
    ]);
    expect(await definitionsLeft(at)).toEqual([
      'nodeclaims.karpenter.sh',
      'nodepools.karpenter.sh',
    ]);

    // Once the other provider has gone, too, nothing needs the definitions.
    await at.kube.patch(
      { resource: kubeResources.nodeClaims, name: 'auto-1' },
      { type: 'merge', body: { metadata: { finalizers: null } } },
    );
    await at.kubectl('delete', 'nodepools,nodeclaims', '--all');
    await inShell(commands.at(-1) ?? '', at.lab);
    await eventually(
      'no definition to be left',
      async () => (await definitionsLeft(at)).length === 0,
    );
  });
});

/** The programs of the guide's commands, in order. */
const programs = [...Array<string>(4).fill('kubectl'), 'aws', 'helm', 'kubectl', 'if'];

/** Objects of EKS Auto Mode beside ours: a pool and a claim of its own class. */
const foreignRef = { group: 'eks.amazonaws.com', kind: 'NodeClass', name: 'default' };
const requirements = [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }];
const foreignPool = {
  metadata: { name: 'auto' },
  spec: { template: { spec: { nodeClassRef: foreignRef, requirements } } },
};
const foreignClaim = {
  metadata: { name: 'auto-1', finalizers: ['karpenter.sh/termination'] },
  spec: { nodeClassRef: foreignRef, requirements },
};

/** The definitions of Karpenter's and our groups that the API server has. */
const definitionsLeft = async (at: TestWorld): Promise<readonly string[]> =>
  (await at.kubectl('get', 'crds', '--output', 'name'))
    .split('\n')
    .map((line) => line.replace(/.*\//, ''))
    .filter((name) => /karpenter|dovetail/.test(name))
    .toSorted();

const podNames = async (at: TestWorld): Promise<readonly string[]> =>
  (await runningPods(at, 'default')).map(({ metadata }) => metadata.name).toSorted();

/**
 * Names of the pods that were evicted for the cause, according to Events, once there are this
 * many: an Event waits for all other requests, so it may come after what it tells of.
 */
const evicted = (at: TestWorld, cause: string, atLeast: number): Promise<readonly string[]> =>
  eventually(`${atLeast} Events of evicted pods`, async () => {
    const found = (await events(at))
      .filter(({ reason, message }) => reason === 'Evicted' && message === `Evicted pod: ${cause}`)
      .map(({ involvedObject }) => involvedObject?.name ?? '')
      .toSorted();
    return found.length >= atLeast && found;
  });

/** The decisions of a kind about an instance, once there are this many. */
const told = (
  at: TestWorld,
  kind: 'disrupt' | 'drain' | 'terminate',
  instanceId: string | undefined,
  atLeast = 1,
): Promise<readonly Decision[]> =>
  eventually(`${kind} as a decision`, () => {
    const found = at.decisions.of(kind).filter((decision) => decision.instanceId === instanceId);
    return found.length >= atLeast && found;
  });

const templates = (at: TestWorld): Promise<readonly unknown[]> => at.cloud('GET', 'templates');

/** All finalizers with Karpenter's names, on any object. */
async function finalizers(at: TestWorld): Promise<readonly string[]> {
  const resources = [
    kubeResources.nodes,
    kubeResources.nodeClaims,
    kubeResources.nodePools,
    kubeResources.provisioners,
    kubeResources.ec2NodeClasses,
    kubeResources.awsNodeTemplates,
  ];
  const objects = await Promise.all(
    resources.map(async (resource) => ((await at.kube.serves(resource)) ? at.list(resource) : [])),
  );
  return objects
    .flat()
    .flatMap(({ kind, metadata }) =>
      (metadata.finalizers ?? [])
        .filter((each) => each.startsWith('karpenter.'))
        .map((each) => `${kind ?? ''} ${metadata.name}: ${each}`),
    );
}

/** The result of `aws ec2 describe-launch-templates`, repeated. */
async function templatesGone(at: TestWorld): Promise<void> {
  await at.lab.advanceClock(31_000);
  await eventually('no launch template', async () => (await templates(at)).length === 0);
}

/** The effect of `helm uninstall` in the lab, whose services are processes. */
async function stopServices(at: TestWorld): Promise<void> {
  for (const [name, part] of at.lab.parts) {
    if (!/^(pod-watcher|solver-\d+|launcher|reaper|services)$/.test(name)) continue;
    at.lab.supervisor?.hold(name);
    await part.stop();
  }
}
