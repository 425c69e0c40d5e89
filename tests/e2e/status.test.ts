import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { untilRunning } from '@dovetail/test-support/cluster';
import { ranCommand } from '@dovetail/test-support/command';
import { poolReady } from '@dovetail/test-support/placement';
import { deploymentManifest, poolManifest } from '@dovetail/test-support/workload';
import { eventually, openWorld, type TestWorld } from '@dovetail/test-support/world';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

type Status = {
  readonly services: readonly { readonly name: string; readonly overdue: boolean }[];
  readonly waiting: readonly { readonly pod: string; readonly why: string }[];
};

describe('dovetail status, on a lab', () => {
  let at: TestWorld;
  let folder: string;
  const status = async (...args: readonly string[]): Promise<string> => {
    const where = ['--kubeconfig', at.lab.kubeconfig, '--nats', at.lab.natsUrl];
    const cluster = ['--cluster', at.lab.options.clusterName];
    const ended = await ranCommand({
      name: 'cli',
      folder,
      args: ['status', ...where, ...cluster, ...args],
    });
    expect(ended).toMatchObject({ code: 0 });
    return ended.output;
  };
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dovetail-status-'));
    at = await openWorld({ world: 'twin' });
    await at.kube.putManifests(
      poolManifest({ clusterName: at.lab.options.clusterName, instanceTypes: ['c5.large'] }),
    );
    await poolReady(at);
    const fits = { name: 'fits', cpu: '700m', memory: '100Mi', replicas: 1 };
    await at.kube.putManifests(deploymentManifest(fits));
    await untilRunning(at, 'default', 1);
  });
  afterAll(async () => {
    await at?.close();
    await rm(folder, { recursive: true, force: true });
  });

  test('it shows who leads, and the nodes of a pool with their price', async () => {
    const text = await status();
    expect(text).toMatch(/^1 node, ~?\$0\.\d+\/h \(~?\$\d+ a month\); no pod waits$/m);
    for (const name of ['launcher', 'reaper', 'pod-watcher'])
      expect(text).toMatch(new RegExp(`^${name} +\\S+ +\\d+s ago +\\S+$`, 'm'));
    expect(text).toMatch(/^default +1 +1 +0 +0 +\d+ % +\d+ % +~?0\.\d{4}$/m);
  });

  test('it says the last round, with its price and the least possible one', async () => {
    expect(await status()).toMatch(/^\d+s ago +plan +0\.\d{4} +0\.\d{4} +1 pod on 1 new node/m);
  });

  test('a pod that fits no type waits with the reason that the planner gave', async () => {
    const large = { name: 'large', cpu: '60', memory: '100Mi', replicas: 1 };
    await at.kube.putManifests(deploymentManifest(large));
    const waiting = await eventually('the reason', async () => {
      const { waiting: pods } = JSON.parse(await status('-o', 'json')) as Status;
      return pods.find(({ pod, why }) => /large/.test(pod) && !why.startsWith('kube-scheduler'));
    });
    expect(waiting?.why).toMatch(/c5\.large|cpu/);
  });
});
