import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { connectKubernetes } from '@dovetail/adapter-kubernetes';
import { type KubeApi, kubeResources } from '@dovetail/core-ports';
import { chartDirs, requiredValues } from '@dovetail/test-support/chart';
import { realParts } from '@dovetail/test-support/real-parts';
import {
  obtainControlPlane,
  obtainHelm,
  obtainKubectl,
  run,
  type RunningControlPlane,
  startControlPlane,
} from '@dovetail/testbed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { type Ended, runPods } from './pod-runner.js';

/**
 * The guard of the chart against leaving nodes behind: a real Helm, a real API server, and the
 * command of the guard's pod as a process with the token of its ServiceAccount.
 */
const parts = await realParts('uninstalling on a real API server', {
  helm: () => obtainHelm(),
  kubectl: () => obtainKubectl(),
  plane: () => obtainControlPlane(),
});

const namespace = ['--namespace', 'dovetail'] as const;
const guard = 'app.kubernetes.io/component=guard';
const ours = ['--selector', 'app.kubernetes.io/instance=dovetail', '--output', 'name'] as const;
const flags = [...requiredValues, 'uninstallGuard.settle=1s'].flatMap((value) => ['--set', value]);

/** A node of the cluster's own, with room for every pod of the chart. */
const base = {
  metadata: {
    name: 'base',
    labels: { 'kubernetes.io/os': 'linux', 'topology.kubernetes.io/zone': 'us-west-2a' },
  },
  status: {
    capacity: { cpu: '32', memory: '64Gi', pods: '100' },
    allocatable: { cpu: '32', memory: '64Gi', pods: '100' },
    conditions: [{ type: 'Ready', status: 'True' }],
  },
};
const claim = {
  metadata: { name: 'general-1', finalizers: ['karpenter.sh/termination'] },
  spec: {
    nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
    requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }],
  },
};

describe.skipIf(parts === undefined)('uninstalling on a real API server', () => {
  let dir: string;
  let plane: RunningControlPlane;
  let kube: KubeApi;
  const tool = async (name: 'helm' | 'kubectl', args: readonly string[]): Promise<string> => {
    const found = parts?.[name];
    if (found === undefined) throw new Error(`no ${name}`);
    const env = { HELM_CACHE_HOME: dir, HELM_CONFIG_HOME: dir, HELM_DATA_HOME: dir };
    const output = await run(found.path, args, {
      deadlineMs: 120_000,
      remedy: 'read its output',
      env: { KUBECONFIG: plane.kubeconfig, ...env },
    });
    return output.stdout;
  };
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'dovetail-uninstall-'));
    if (parts === undefined) throw new Error('no control plane');
    plane = await startControlPlane({ paths: parts.plane.paths, dir, clusterName: 'lab' });
    const quiet = (): undefined => undefined;
    kube = connectKubernetes({
      kubeconfigPath: plane.kubeconfig,
      log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    });
    await tool('helm', [
      ...['install', 'dovetail', chartDirs.dovetail, '--create-namespace'],
      ...namespace,
      ...flags,
    ]);
    await kube.create(kubeResources.nodes, base);
    await kube.create(kubeResources.nodeClaims, claim);
  });
  afterAll(async () => {
    await plane?.stop();
    await rm(dir, { recursive: true, force: true });
  });

  /** Uninstalls while pods of the guard run. Answers how those ended, and Helm's refusal. */
  async function uninstall(): Promise<{ readonly pods: readonly Ended[]; readonly error: string }> {
    const stop = new AbortController();
    const tokenOf = async (account: string): Promise<string> =>
      (await tool('kubectl', ['create', 'token', account, ...namespace])).trim();
    const pods = runPods({ kube, plane, dir, tokenOf }, guard, stop.signal);
    const error = await tool('helm', ['uninstall', 'dovetail', ...namespace, '--timeout', '100s'])
      .then(() => '')
      .catch(String);
    stop.abort();
    return { pods: await pods, error };
  }

  test('is refused while a claim is left, by a pod that tells why, and everything stays', async () => {
    const { pods, error } = await uninstall();
    expect(pods).toEqual([
      { args: expect.anything(), code: 2, said: expect.stringMatching(/nodeclaims.*general-1/) },
    ]);
    expect(error).toMatch(/dovetail-guard/);
    expect(await tool('kubectl', ['get', 'deployments', ...namespace, ...ours])).toMatch(
      /launcher\n.*pod-watcher\n.*reaper\n.*solver\n/,
    );
    expect(await tool('kubectl', ['get', 'clusterroles', ...ours])).not.toMatch(/guard/);
  });

  test('after a refusal, a rollback makes the release one that can be upgraded', async () => {
    await tool('helm', ['rollback', 'dovetail', '1', ...namespace]);
    await tool('helm', ['upgrade', 'dovetail', chartDirs.dovetail, ...namespace, ...flags]);
    expect(await tool('helm', ['status', 'dovetail', ...namespace])).toContain('STATUS: deployed');
  });

  test('succeeds once nothing is left, and goes without a trace', async () => {
    const named = { resource: kubeResources.nodeClaims, name: claim.metadata.name };
    await kube.delete(named);
    await kube.patch(named, { type: 'merge', body: { metadata: { finalizers: null } } });
    const { pods, error } = await uninstall();
    expect({ pods, error }).toMatchObject({ pods: [{ code: 0 }], error: '' });
    const kinds = 'deployments,jobs,serviceaccounts,configmaps,roles,rolebindings';
    expect(await tool('kubectl', ['get', kinds, ...namespace, ...ours])).toBe('');
    expect(await tool('kubectl', ['get', 'clusterroles,clusterrolebindings', ...ours])).toBe('');
  });
});
