import { type Cloud, CloudError, kubeResources } from '@dovetail/core-ports';
import type { Machine } from '@dovetail/sim-cloud';
import { podObject } from '@dovetail/sim-stage';
import { afterEach, describe, expect, test } from 'vitest';

import type { LauncherConfig } from '../config.js';
import {
  type LauncherStage,
  launcherStage,
  type RunningLauncher,
} from '../testing/launcher-stage.js';

let self: LauncherStage;
let asked = 0;
afterEach(() => {
  asked = 0;
  self.end();
});

const refusal = new CloudError(
  'denied',
  'AccessDeniedException',
  'not authorized to perform eks:DescribeCluster',
);
const refused: Cloud['clusterInfo'] = () => Promise.reject(refusal);
const notOfEks: Cloud['clusterInfo'] = () => Promise.resolve(undefined);

/** A launcher to which EKS answers so. `asked` counts its questions. */
async function launcherWith(
  clusterInfo: Cloud['clusterInfo'],
  config: Partial<LauncherConfig> = {},
): Promise<RunningLauncher> {
  const ports = self.ports();
  const counted: Cloud['clusterInfo'] = (name) => {
    asked += 1;
    return clusterInfo(name);
  };
  return self.launcher('one', {
    ports: { ...ports, cloud: { ...ports.cloud, clusterInfo: counted } },
    config,
  });
}

/** The machine that a pod gets. */
async function firstMachine(): Promise<Machine> {
  const machines: Machine[] = [];
  self.twin.onBoot((machine) => void machines.push(machine));
  await self.readyPool();
  await self.planningPossible();
  await self.kube.create(kubeResources.pods, podObject('a'));
  await self.until("the pod in the planner's view", () => self.planner.cluster.pods.size === 1);
  await self.planner.planFor(['a']);
  return self.until('a machine', () => machines[0]);
}

const warnings = (): readonly string[] =>
  self.log.entries
    .filter(({ name, level }) => name === 'discovery-failed' && level === 'warn')
    .map(({ message }) => message);

/** The twin's own endpoint, as machines only join there; the other facts are unlike EKS' answer. */
const settings = (): Partial<LauncherConfig> => ({
  clusterEndpoint: self.twin.cluster().endpoint,
  clusterCa: 'Y2E=',
  clusterServiceCidr: '10.77.0.0/16',
});

describe('the cluster in settings', () => {
  test.each([
    ['refuses to describe it', refused],
    ['knows no cluster of the name', notOfEks],
    ['describes it otherwise', undefined],
  ])('is what nodes boot with where EKS %s; EKS is not asked', async (_how, answer) => {
    self = await launcherStage();
    await launcherWith(answer ?? ((name) => self.cloud.clusterInfo(name)), settings());
    const { boot, userData } = await firstMachine();
    expect(boot).toMatchObject({
      joins: true,
      config: { endpoint: self.twin.cluster().endpoint, certificateAuthority: 'Y2E=' },
    });
    expect(userData).toContain('cidr: 10.77.0.0/16');
    expect([asked, warnings()]).toEqual([0, []]);
  });

  test.each([
    ['EKS knows the cluster', undefined],
    ['EKS refuses to describe it', refused],
  ])('needs no CA where %s: nodes get that of the launcher', async (_how, answer) => {
    self = await launcherStage();
    const { clusterCa: _none, ...given } = settings();
    await launcherWith(answer ?? ((name) => self.cloud.clusterInfo(name)), {
      ...given,
      ownCa: 'b3du',
    });
    const { boot } = await firstMachine();
    expect(boot).toMatchObject({ joins: true, config: { certificateAuthority: 'b3du' } });
    expect(asked).toBe(0);
  });

  test('is not needed for EKS, whose CA goes before that of the launcher', async () => {
    self = await launcherStage();
    await launcherWith((name) => self.cloud.clusterInfo(name), { ownCa: 'b3du' });
    const { boot } = await firstMachine();
    const { certificateAuthority } = self.twin.cluster();
    expect(boot).toMatchObject({ joins: true, config: { certificateAuthority } });
  });

  test('is what nodes boot with in part: EKS is asked for what is not set', async () => {
    self = await launcherStage();
    await launcherWith((name) => self.cloud.clusterInfo(name), {
      clusterServiceCidr: '10.77.0.0/16',
    });
    const { boot, userData } = await firstMachine();
    const { endpoint, certificateAuthority } = self.twin.cluster();
    expect(boot).toMatchObject({ joins: true, config: { endpoint, certificateAuthority } });
    expect(userData).toContain('cidr: 10.77.0.0/16');
  });

  test('suffices without a service CIDR, and a class of AL2023 says that it needs one', async () => {
    self = await launcherStage();
    const { clusterServiceCidr: _none, ...given } = settings();
    const { launcher } = await launcherWith(refused, given);
    await self.readyPool();
    await self.until('a ready launcher', () => launcher.ready()['cluster']);
    const message = await self.until('the word', async () => {
      const [nodeClass] = await self.kube.list(kubeResources.ec2NodeClasses);
      const { conditions = [] } = (nodeClass?.['status'] ?? {}) as {
        conditions?: readonly { type: string; status: string; message?: string }[];
      };
      return conditions.find(({ type }) => type === 'ValidationSucceeded')?.message;
    });
    expect(message).toContain('allow eks:DescribeCluster or set CLUSTER_SERVICE_CIDR');
    expect(warnings()).toEqual([expect.stringMatching(/or set CLUSTER_SERVICE_CIDR; trying/)]);
  });
});

describe('without settings', () => {
  test('an EKS that refuses to describe the cluster is told with the remedy, rarely, and asked until it answers', async () => {
    self = await launcherStage();
    let allowed = false;
    const { launcher } = await launcherWith((name) =>
      allowed ? self.cloud.clusterInfo(name) : refused(name),
    );
    await self.pass(20 * 60);
    expect(launcher.ready()).toMatchObject({ cluster: false });
    expect(asked).toBeGreaterThan(100);
    const said = warnings();
    expect(said.length).toBeGreaterThan(1);
    expect(said.length).toBeLessThanOrEqual(5);
    expect(said[0]).toMatch(
      /^cluster could not be read: EKS did not describe cluster lab \(.*\): allow eks:DescribeCluster, or set CLUSTER_ENDPOINT, CLUSTER_CA_BUNDLE, CLUSTER_SERVICE_CIDR; trying again in 10 s$/,
    );
    allowed = true;
    await self.until('a ready launcher', () => launcher.ready()['cluster']);
    expect(self.log.entries.filter(({ name }) => name === 'discovery-recovered')).toHaveLength(1);
  });

  test('a cluster that EKS does not know is told with the remedy', async () => {
    self = await launcherStage();
    await launcherWith(notOfEks);
    await self.until('the word', () => warnings().length > 0);
    expect(warnings()[0]).toMatch(
      /EKS knows no cluster lab: correct CLUSTER_NAME, or set CLUSTER_ENDPOINT, CLUSTER_CA_BUNDLE, CLUSTER_SERVICE_CIDR if the cluster is not of EKS/,
    );
  });

  test('what EKS said once stays true when it refuses later', async () => {
    self = await launcherStage();
    let allowed = true;
    await launcherWith((name) => (allowed ? self.cloud.clusterInfo(name) : refused(name)));
    await self.until('an answer', () => asked > 0);
    allowed = false;
    await self.until('a refusal', () => warnings().length > 0);
    const { boot } = await firstMachine();
    expect(boot).toMatchObject({ joins: true });
  });
});
