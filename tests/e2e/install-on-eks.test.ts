import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { claims, instances, nodes, ourNodes, runningPods } from '@dovetail/test-support/cluster';
import { commandsOf, inShell } from '@dovetail/test-support/guide';
import { instanceProfiles, launchTemplates } from '@dovetail/test-support/launch-templates';
import { realParts } from '@dovetail/test-support/real-parts';
import { eventually, openWorld, type TestWorld } from '@dovetail/test-support/world';
import { obtainControlPlane, obtainHelm, obtainKubectl, obtainNatsServer } from '@dovetail/testbed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { type EksCluster, startEksCluster } from './eks-cluster.js';
import { dist } from './pod-runner.js';

/**
 * The guide to installing on EKS, line by line as it is printed: by a real Helm and kubectl on a
 * real API server with its controllers and scheduler, real NATS servers, and the twin of AWS. Lines
 * that the guide marks are left out.
 */
const root = join(import.meta.dirname, '..', '..');
const page = 'install-on-eks.md';
const parts = await realParts('the guide to EKS on a real API server', {
  helm: () => obtainHelm(),
  kubectl: () => obtainKubectl(),
  nats: () => obtainNatsServer(),
  plane: () => obtainControlPlane(),
});

/** The commands of a section that need no more than a cluster. */
async function unmarked(heading: string): Promise<readonly string[]> {
  const commands = await commandsOf(page, heading);
  return commands.filter(
    (command, index) => !command.startsWith('# ') && !commands[index - 1]?.startsWith('# needs '),
  );
}
const sections = {
  first: await unmarked('Five commands'),
  see: await unmarked('See it work'),
  upgrade: await unmarked('Upgrade'),
  uninstall: await unmarked('Uninstall'),
};

describe.skipIf(parts === undefined)('the guide to EKS', () => {
  let dir: string;
  let at: TestWorld;
  let eks: EksCluster;
  let profiles: readonly string[];
  let env: Readonly<Record<string, string>>;
  const shell = (command: string): Promise<string> =>
    inShell(command, { kubeconfig: at.lab.kubeconfig, folder: dir, env }).catch(
      (error: unknown) => {
        throw new Error([String(error), ...failures()].join('\n'));
      },
    );
  const failures = (): readonly string[] => [
    ...eks.failures,
    ...(eks.services()?.failures ?? []),
    ...eks.ended.filter(({ code }) => code !== 0).map(({ said }) => said),
  ];

  beforeAll(async () => {
    if (parts === undefined) return;
    dir = await mkdtemp(join(tmpdir(), 'dovetail-eks-'));
    await symlink(join(root, 'deploy'), join(dir, 'deploy'));
    // `npx dovetail` of a checkout.
    await mkdir(join(dir, 'bin'));
    const npx = `#!/bin/sh\nshift\nexec ${process.execPath} ${dist}/cli.js "$@"\n`;
    await writeFile(join(dir, 'bin', 'npx'), npx);
    await chmod(join(dir, 'bin', 'npx'), 0o755);
    at = await openWorld({
      world: 'real',
      servicesLeftOut: true,
      prepare: () => Promise.resolve(),
    });
    env = {
      PATH: `${join(dir, 'bin')}:${dirname(parts.helm.path)}:`,
      HELM_CACHE_HOME: dir,
      HELM_CONFIG_HOME: dir,
      HELM_DATA_HOME: dir,
      CLUSTER_NAME: 'lab',
      AWS_REGION: 'us-west-2',
      NODE_ROLE: 'KarpenterNodeRole-lab',
      REGISTRY: 'registry.example',
    };
    eks = await startEksCluster(at, { dir, natsPath: parts.nats.path });
  });
  afterAll(async () => {
    await eks?.stop();
    await at?.close();
    if (process.env['KEEP_LAB'] !== '1') await rm(dir, { recursive: true, force: true });
  });

  test('leads from an empty cluster to services that are ready, on a guarded bus', async () => {
    const [install = ''] = sections.first;
    expect(install).toMatch(/^helm install /);
    await shell(install);
    expect(failures()).toEqual([]);
    expect(eks.ended.map(({ said }) => said.trim())).toEqual([
      'made keys for pod-watcher, solver, launcher, reaper, reader, console, sinks',
    ]);
  }, 200_000);

  test('leads to the first node, on which the pods run', async () => {
    const [, ...pool] = sections.first;
    expect(pool).toHaveLength(1);
    profiles = await instanceProfiles(at);
    for (const command of [...pool, ...sections.see.slice(0, 2)]) await shell(command);
    expect((await runningPods(at, 'default')).length).toBe(3);
    expect((await ourNodes(at)).length).toBe((await claims(at)).length);
    expect((await instances(at)).length).toBeGreaterThan(0);
    expect((await launchTemplates(at)).length).toBeGreaterThan(0);
    expect((await instanceProfiles(at)).filter((name) => !profiles.includes(name))).toHaveLength(1);
  }, 200_000);

  test('shows that every service is ready, and lets a reader follow decisions', async () => {
    const [helmTest = '', seed = '', ca = ''] = sections.see.slice(2);
    for (const command of [helmTest, seed, ca]) await shell(command);
    expect(eks.ended.at(-1)).toMatchObject({ code: 0 });
    const commands = await commandsOf(page, 'See it work');
    const follow = commands.find((command) => command.startsWith('npx dovetail decisions')) ?? '';
    const said = await shell(follow.replace('tls://localhost:4222', eks.bus()?.url ?? ''));
    expect(said).toMatch(/launch/);
  }, 200_000);

  test('upgrades definitions and chart in place, and keeps keys and certificate', async () => {
    const kept = (): Promise<string> =>
      shell(
        "kubectl -n dovetail get secrets -l app.kubernetes.io/component=nats -o jsonpath='{.items[*].data}'",
      );
    const before = await kept();
    for (const command of sections.upgrade) await shell(command);
    expect(await kept()).toBe(before);
    expect(await shell('helm status dovetail --namespace dovetail')).toContain('STATUS: deployed');
    expect((await ourNodes(at)).length).toBeGreaterThan(0);
  }, 200_000);

  test('changes a key as the page about NATS says, while everything runs', async () => {
    const pids = (): readonly number[] =>
      [...(eks.bus()?.servers ?? []), ...(eks.services()?.parts.values() ?? [])].map(
        ({ pid }) => pid,
      );
    const before = pids();
    const [drop = '', upgrade = ''] = await commandsOf('nats.md', "Servers of the chart's own");
    for (const command of [drop, upgrade]) await shell(command);
    expect(eks.ended.at(-1)?.said.trim()).toBe('made keys for solver');
    await eks.renew();
    const log = eks.services()?.parts.get('solver')?.logFile ?? '';
    await eventually(
      'the solver to connect again',
      async () => ((await readFile(log, 'utf8')).match(/nats-connected/g) ?? []).length > 1,
    );
    expect(pids()).toEqual(before);
  }, 200_000);

  test('uninstalls without a trace but the definitions', async () => {
    for (const command of sections.uninstall) await shell(command);
    expect(await instances(at)).toEqual([]);
    expect(await launchTemplates(at)).toEqual([]);
    expect(await instanceProfiles(at)).toEqual(profiles);
    expect((await nodes(at)).map(({ metadata }) => metadata.name).toSorted()).toEqual(
      ['a', 'b', 'c'].map((zone) => `system-us-west-2${zone}`),
    );
    expect((await shell('kubectl get namespaces --output name')).split('\n')).not.toContain(
      'namespace/dovetail',
    );
    const ours = '--selector app.kubernetes.io/instance=dovetail --output name';
    expect(await shell(`kubectl get clusterroles,clusterrolebindings,flowschemas ${ours}`)).toBe(
      '',
    );
  }, 200_000);
});
