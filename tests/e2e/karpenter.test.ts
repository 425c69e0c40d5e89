import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { type Ended, ranCommand } from '@dovetail/test-support/command';
import { realParts } from '@dovetail/test-support/real-parts';
import { eventually } from '@dovetail/test-support/world';
import { obtainControlPlane, obtainKarpenter, obtainKubectl, run } from '@dovetail/testbed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** Karpenter's own controller as a stranger on the cloud twin: `make lab AUTOSCALER=karpenter`. */
const root = join(import.meta.dirname, '..', '..');

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dovetail-karpenter-'));
});
afterAll(async () => {
  await lab('down');
  await rm(folder, { recursive: true, force: true });
});

const lab = (command: string, env: Readonly<Record<string, string>> = {}): Promise<Ended> =>
  ranCommand({ name: 'lab', folder, args: [command], env });

describe('the lab with another autoscaler', () => {
  test.each([
    [
      { AUTOSCALER: 'cluster-autoscaler' },
      /AUTOSCALER is cluster-autoscaler[^]*give dovetail or karpenter/,
    ],
    [{ AUTOSCALER: 'karpenter' }, /real control plane[^]*REAL=1 AUTOSCALER=karpenter/],
  ])('is refused for %j, with the remedy', async (env, message) => {
    const { code, output } = await lab('up', env);
    expect([code, output]).toEqual([1, expect.stringMatching(message)]);
  });

  test('is refused without Go, before anything is started', async () => {
    const { code, output } = await lab('up', {
      REAL: '1',
      AUTOSCALER: 'karpenter',
      PATH: folder,
      XDG_CACHE_HOME: join(folder, 'empty'),
    });
    expect(code).toBe(1);
    expect(output).toMatch(/built from its Go module, and there is no go on PATH/);
    expect(output).toMatch(/install Go 1\.26/);
    expect(existsSync(join(folder, '.lab', 'kubernetes'))).toBe(false);
  });
});

const parts = await realParts("Karpenter's own controller on the cloud twin", {
  plane: () => obtainControlPlane(),
  karpenter: () => obtainKarpenter(),
  kubectl: () => obtainKubectl(),
});

async function kubectl(...args: readonly string[]): Promise<string> {
  if (parts === undefined) throw new Error('no kubectl');
  const { stdout } = await run(
    parts.kubectl.path,
    ['--kubeconfig', join(folder, '.lab', 'kubeconfig'), ...args],
    { deadlineMs: 200_000, remedy: 'read its output' },
  );
  return stdout.trim();
}

const namesOf = async (kind: string): Promise<readonly string[]> =>
  (await kubectl('get', kind, '-o', 'name')).split('\n').filter((name) => name !== '');

async function cloud<T>(method: 'GET' | 'POST', path: string, body?: unknown): Promise<T> {
  const ready = await readFile(join(folder, '.lab', 'ready'), 'utf8');
  const [url] = /http:\/\/127\.0\.0\.1:\d+(?=\n  Karpenter)/.exec(ready) ?? [];
  const answer = await fetch(`${url ?? ''}/_twin/${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return (await answer.json()) as T;
}

type Instance = {
  readonly instanceId: string;
  readonly state: string;
  readonly capacityType: string;
};
const instancesThatLive = async (): Promise<readonly Instance[]> =>
  (await cloud<readonly Instance[]>('GET', 'instances')).filter(
    ({ state }) => state === 'pending' || state === 'running',
  );

async function scale(replicas: number): Promise<void> {
  await kubectl('scale', 'deployment/inflate', `--replicas=${replicas}`);
}

async function untilNothingLives(): Promise<void> {
  await kubectl('wait', 'nodeclaims', '--all', '--for=delete', '--timeout=150s');
  await eventually('its nodes to go', async () => (await namesOf('nodes')).length === 0);
  await eventually('its instances to end', async () => (await instancesThatLive()).length === 0);
}

const inLab = describe.skipIf(parts === undefined);

inLab("Karpenter's own controller on the real control plane and the cloud twin", () => {
  let up: Ended;
  beforeAll(async () => {
    up = await lab('up', { REAL: '1', AUTOSCALER: 'karpenter' });
  });

  test('starts instead of our services', () => {
    expect(up).toMatchObject({
      code: 0,
      output: expect.stringMatching(/Karpenter [0-9.]+: real[^]*tail -f \.lab\/logs\/karpenter/),
    });
    expect(up.output).not.toMatch(/pod-watcher|launcher/);
  });

  test('launches nodes for 20 pods, and the pods run', async () => {
    await kubectl('apply', '-f', join(root, 'examples', 'inflate.yaml'));
    await kubectl('wait', 'nodepool/default', '--for=condition=Ready', '--timeout=90s');
    await scale(20);
    await kubectl('rollout', 'status', 'deployment/inflate', '--timeout=120s');
    const claims = await namesOf('nodeclaims');
    expect(claims.length).toBeGreaterThan(0);
    expect((await namesOf('nodes')).length).toBe(claims.length);
    expect((await instancesThatLive()).length).toBe(claims.length);
  });

  test('ends the nodes when the pods are gone', async () => {
    await scale(0);
    await untilNothingLives();
  });

  test('buys Spot, and replaces a node that is interrupted', async () => {
    const spot = { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot'] };
    await writeFile(
      join(folder, 'patch.json'),
      JSON.stringify([{ op: 'replace', path: '/spec/template/spec/requirements/3', value: spot }]),
    );
    const patch = ['--type=json', `--patch-file=${join(folder, 'patch.json')}`];
    await kubectl('patch', 'nodepool/default', ...patch);
    await scale(3);
    await kubectl('rollout', 'status', 'deployment/inflate', '--timeout=120s');
    const [first] = await instancesThatLive();
    expect(first?.capacityType).toBe('spot');
    await cloud('POST', 'interrupt', { instanceId: first?.instanceId });
    await eventually(
      'another Spot instance, and the end of the first',
      async () => {
        const ids = (await instancesThatLive()).map(({ instanceId }) => instanceId);
        return ids.length > 0 && !ids.includes(first?.instanceId ?? '');
      },
      120_000,
    );
    await kubectl('rollout', 'status', 'deployment/inflate', '--timeout=120s');
  });

  test('takes down what it made when pool and class are deleted', async () => {
    await kubectl('delete', 'deployment/inflate', 'nodepool/default', '--timeout=150s');
    await untilNothingLives();
    await kubectl('delete', 'ec2nodeclass/default', '--timeout=150s');
    expect(await cloud<readonly unknown[]>('GET', 'templates')).toEqual([]);
  });

  test('made no call that the cloud twin does not serve', async () => {
    const log = await readFile(join(folder, '.lab', 'logs', 'cloud.log'), 'utf8');
    expect(log.split('\n').filter((line) => line.includes('call-not-served'))).toEqual([]);
    const calls = await cloud<readonly { readonly action: string }[]>('GET', 'calls');
    expect(calls.map(({ action }) => action)).toEqual(
      expect.arrayContaining(['ec2:CreateFleet', 'ec2:TerminateInstances', 'sqs:ReceiveMessage']),
    );
  });
});
