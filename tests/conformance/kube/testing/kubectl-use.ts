import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { kubeResources } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import { describeWithKubectl } from './kubectl.js';
import { deployment, extra, pod, statefulSet } from './objects.js';
import { type Context, eventually } from './suite.js';

const manifest = (replicas: number): string => `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: main, image: "pause:3.9", resources: {requests: {cpu: 100m}}}]
`;

function applyTests({ world, namespace }: Context): void {
  test('apply, rollout status, scale, get -o wide, describe, events, delete', async () => {
    const own = await namespace();
    const run = async (...args: readonly string[]): Promise<string> =>
      (await world().kubectl(['-n', own, ...args])).out;
    expect((await world().kubectl(['-n', own, 'apply', '-f', '-'], manifest(2))).out).toBe(
      'deployment.apps/web created\n',
    );
    expect(await run('rollout', 'status', 'deployment/web', '--timeout=30s')).toContain(
      'deployment "web" successfully rolled out',
    );
    expect((await world().kubectl(['-n', own, 'apply', '-f', '-'], manifest(2))).out).toBe(
      'deployment.apps/web unchanged\n',
    );
    expect(await run('scale', 'deployment/web', '--replicas=3')).toBe(
      'deployment.apps/web scaled\n',
    );
    expect(await run('rollout', 'status', 'deployment/web', '--timeout=30s')).toContain(
      'successfully rolled out',
    );
    expect(await run('get', 'deployments', '-o', 'wide')).toMatch(
      /^NAME\s+READY\s+UP-TO-DATE\s+AVAILABLE\s+AGE\s+CONTAINERS\s+IMAGES\s+SELECTOR\nweb\s+3\/3\s+3\s+3\s+\d+s\s+main\s+pause:3\.9\s+app=web\n$/,
    );
    expect(await run('get', 'pods', '-o', 'wide')).toMatch(
      /^NAME\s+READY\s+STATUS\s+RESTARTS\s+AGE\s+IP\s+NODE\s+NOMINATED NODE\s+READINESS GATES\n(web-\w+-\w+\s+1\/1\s+Running\s+0\s+\d+s\s+10\.\S+\s+w\d\s+<none>\s+<none>\n){3}$/,
    );
    expect(await run('describe', 'deployment', 'web')).toMatch(
      /Replicas:\s+3 desired \| 3 updated \| 3 total \| 3 available \| 0 unavailable/,
    );
    expect(await run('describe', 'pods')).toMatch(/Successfully assigned/);
    expect(await run('events')).toMatch(
      /Normal\s+ScalingReplicaSet\s+Deployment\/web\s+Scaled up replica set web-\w+ from 2 to 3/,
    );
    expect(await run('get', 'events')).toMatch(/^LAST SEEN\s+TYPE\s+REASON\s+OBJECT\s+MESSAGE\n/);
    expect(await run('delete', 'deployment', 'web', '--timeout=20s')).toContain('deleted');
    expect(
      await run('wait', '--for=delete', 'pod', '-l', 'app=web', '--timeout=20s'),
    ).not.toContain('timed out');
  });

  test('apply -k builds a kustomization and applies it; delete -k takes it back', async () => {
    const own = await namespace();
    const folder = await mkdtemp(join(tmpdir(), 'dovetail-kustomize-'));
    try {
      await writeFile(join(folder, 'web.yaml'), manifest(1));
      await writeFile(
        join(folder, 'kustomization.yaml'),
        'resources: [web.yaml]\nnamePrefix: big-\nlabels: [{pairs: {team: one}}]\nreplicas: [{name: web, count: 2}]\n',
      );
      const run = async (...args: readonly string[]): Promise<string> =>
        (await world().kubectl(['-n', own, ...args])).out;
      expect(await run('apply', '-k', folder)).toBe('deployment.apps/big-web created\n');
      expect(await run('apply', '-k', folder)).toBe('deployment.apps/big-web unchanged\n');
      expect(
        await run(
          'get',
          'deployments',
          '-l',
          'team=one',
          '-o',
          'jsonpath={.items[*].spec.replicas}',
        ),
      ).toBe('2');
      expect(await run('delete', '-k', folder, '--timeout=20s')).toContain('"big-web" deleted');
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  test('get --sort-by orders by a name, by a number and by a time', async () => {
    const own = await namespace();
    const { kube } = world();
    for (const [name, minReadySeconds] of [
      ['b', 10],
      ['a', 9],
      ['c', 0],
    ] as const) {
      const one = deployment(own, name, 0);
      const spec = { ...(one['spec'] as object), minReadySeconds };
      await kube.create(extra.deployments, { ...one, spec });
    }
    const sorted = async (by: string): Promise<string> =>
      (
        await world().kubectl([
          ...['-n', own, 'get', 'deployments', '--no-headers'],
          ...['-o', 'custom-columns=NAME:.metadata.name', `--sort-by=${by}`],
        ])
      ).out;
    expect(await sorted('.metadata.name')).toBe('a\nb\nc\n');
    expect(await sorted('.spec.minReadySeconds')).toBe('c\na\nb\n');
    expect((await sorted('{.metadata.creationTimestamp}')).split('\n').toSorted()).toEqual([
      '',
      'a',
      'b',
      'c',
    ]);
  });

  test.each([
    [
      'an unknown field',
      'spec: {containers: [{name: a, image: b, foo: 1}]}',
      'strict decoding error: unknown field "spec.containers[0].foo"',
    ],
    [
      'a value of another type',
      'spec: {containers: [{name: a, image: b}], priority: high}',
      'cannot unmarshal string into Go struct field PodSpec.spec.priority of type int32',
    ],
    [
      'a missing image',
      'spec: {containers: [{name: a}]}',
      'spec.containers[0].image: Required value',
    ],
    [
      'more requested than allowed',
      'spec: {containers: [{name: a, image: b, resources: {requests: {cpu: 2}, limits: {cpu: 1}}}]}',
      'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
    ],
  ])('apply refuses %s', async (_what, spec, words) => {
    const own = await namespace();
    const { code, out } = await world().kubectl(
      ['-n', own, 'apply', '-f', '-'],
      `apiVersion: v1\nkind: Pod\nmetadata: {name: bad}\n${spec}\n`,
    );
    expect(out).toContain(words);
    expect(code).toBe(1);
  });

  test('server-side apply owns its fields: others conflict, and what is left out goes', async () => {
    const own = await namespace();
    const apply = (
      manager: string,
      data: string,
      ...more: readonly string[]
    ): Promise<{ readonly code: number; readonly out: string }> =>
      world().kubectl(
        ['-n', own, 'apply', '--server-side', `--field-manager=${manager}`, ...more, '-f', '-'],
        `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: ${data}\n`,
      );
    expect(await apply('one', '{a: "1", b: "1"}')).toMatchObject({ code: 0 });
    expect(await apply('two', '{a: "2"}')).toMatchObject({
      code: 1,
      out: expect.stringContaining('conflict with "one": .data.a') as unknown,
    });
    expect(await apply('two', '{a: "2"}', '--force-conflicts')).toMatchObject({ code: 0 });
    expect(await apply('one', '{c: "1"}')).toMatchObject({ code: 0 });
    expect(
      (await world().kubectl(['-n', own, 'get', 'configmap', 'c', '-o', 'jsonpath={.data}'])).out,
    ).toBe('{"a":"2","c":"1"}');
  });
}

function nodeTests({ world, namespace }: Context): void {
  test('label, annotate, taint, cordon, drain, uncordon, and -L columns', async () => {
    const own = await namespace();
    const run = async (...args: readonly string[]): Promise<string> =>
      (await world().kubectl(args)).out;
    expect(await run('label', 'node', 'w1', 'team=one')).toBe('node/w1 labeled\n');
    expect(await run('annotate', 'node', 'w1', 'note=x')).toBe('node/w1 annotated\n');
    expect(await run('taint', 'node', 'w1', 'k=v:PreferNoSchedule')).toBe('node/w1 tainted\n');
    expect(await run('get', 'nodes', '-L', 'team', '-L', 'topology.kubernetes.io/zone')).toMatch(
      /^NAME\s+STATUS\s+ROLES\s+AGE\s+VERSION\s+TEAM\s+ZONE\nw1\s+Ready\s+<none>\s+\S+\s+v1\.34\.0\s+one\s+zone-a\n/,
    );
    expect(await run('taint', 'node', 'w1', 'k:PreferNoSchedule-')).toBe('node/w1 untainted\n');
    await world().kubectl(['-n', own, 'apply', '-f', '-'], manifest(3));
    await run('-n', own, 'rollout', 'status', 'deployment/web', '--timeout=30s');
    expect(await run('drain', 'w1', '--ignore-daemonsets', '--force', '--timeout=30s')).toContain(
      'node/w1 drained',
    );
    expect(await run('get', 'node', 'w1')).toMatch(/w1\s+Ready,SchedulingDisabled/);
    expect(await run('uncordon', 'w1')).toBe('node/w1 uncordoned\n');
    expect(await run('describe', 'node', 'w1')).toMatch(/ProviderID:\s+aws:\/\/\/zone-a\/w1/);
  });

  test('create namespace, deployment, job and budget by words, as people do', async () => {
    const own = await namespace();
    const run = async (...args: readonly string[]): Promise<string> =>
      (await world().kubectl(['-n', own, ...args])).out;
    expect(await run('create', 'namespace', `${own}-more`)).toBe(`namespace/${own}-more created\n`);
    expect(await run('create', 'deployment', 'by-words', '--image=pause:3.9', '--replicas=2')).toBe(
      'deployment.apps/by-words created\n',
    );
    expect(await run('create', 'job', 'by-words', '--image=busybox', '--', 'sleep', '0.1')).toBe(
      'job.batch/by-words created\n',
    );
    expect(
      await run(
        'create',
        'poddisruptionbudget',
        'by-words',
        '--selector=app=by-words',
        '--min-available=1',
      ),
    ).toBe('poddisruptionbudget.policy/by-words created\n');
    expect(await run('wait', '--for=condition=complete', 'job/by-words', '--timeout=30s')).toBe(
      'job.batch/by-words condition met\n',
    );
    expect(await run('get', 'pdb')).toMatch(
      /^NAME\s+MIN AVAILABLE\s+MAX UNAVAILABLE\s+ALLOWED DISRUPTIONS\s+AGE\nby-words\s+1\s+N\/A\s+\d\s+\S+\n$/,
    );
    expect(await run('delete', 'namespace', `${own}-more`, '--timeout=30s')).toContain('deleted');
  });
}

function watchTests({ world, namespace }: Context): void {
  test('get pods -w prints the columns once, then what is there, then each change until the pod is gone', async () => {
    const own = await namespace();
    const { kube, kubectl } = world();
    await kube.create(kubeResources.pods, pod(own, 'there', { schedulerName: 'nobody' }));
    const watching = kubectl.start(['-n', own, 'get', 'pods', '-w']);
    const seen = (pattern: RegExp): Promise<string> =>
      eventually(
        () => Promise.resolve(watching.out()),
        (out) => pattern.test(out),
      );
    try {
      expect(await seen(/there.*\n/)).toMatch(
        /^NAME\s+READY\s+STATUS\s+RESTARTS\s+AGE\nthere\s+0\/1\s+Pending\s+0\s+\d+s\n$/,
      );
      await kube.create(kubeResources.pods, pod(own, 'new'));
      expect(await seen(/new\s+1\/1\s+Running.*\n/)).toMatch(
        /\nnew\s+0\/1\s+Pending\s+0\s+\d+s\n(new .*\n)*new\s+1\/1\s+Running\s+0\s+\d+s\n/,
      );
      await kube.delete({ resource: kubeResources.pods, namespace: own, name: 'there' });
      const lines = (await seen(/(there.*\n[^]*){2}/)).split('\n');
      expect(lines.filter((line) => line.startsWith('NAME'))).toHaveLength(1);
      expect(lines.filter((line) => line.startsWith('there')).length).toBeGreaterThan(1);
    } finally {
      await watching.end();
    }
  });

  test('get deployments --watch-only -o wide prints nothing of what is there, and then a change', async () => {
    const own = await namespace();
    const { kube, kubectl } = world();
    await kube.create(extra.deployments, deployment(own, 'quiet', 0));
    const watching = kubectl.start(['-n', own, 'get', 'deployments', '--watch-only', '-o', 'wide']);
    try {
      const out = await eventually(
        async () => {
          await kube
            .create(extra.deployments, deployment(own, 'loud', 0))
            .catch(() =>
              kube.delete({ resource: extra.deployments, namespace: own, name: 'loud' }),
            );
          return watching.out();
        },
        (text) => text.includes('loud'),
      );
      expect(out).toMatch(
        /^NAME\s+READY\s+UP-TO-DATE\s+AVAILABLE\s+AGE\s+CONTAINERS\s+IMAGES\s+SELECTOR\n(loud\s+0\/0\s+0\s+0\s+\d+s\s+main\s+pause:3\.9\s+app=a\n)+$/,
      );
    } finally {
      await watching.end();
    }
  });
}

function kindTests({ world, namespace }: Context): void {
  test('get nodes -o wide has its ten columns, with what the kubelet told', async () => {
    const { out } = await world().kubectl(['get', 'nodes', 'w1', '-o', 'wide']);
    expect(out).toMatch(
      /^NAME\s+STATUS\s+ROLES\s+AGE\s+VERSION\s+INTERNAL-IP\s+EXTERNAL-IP\s+OS-IMAGE\s+KERNEL-VERSION\s+CONTAINER-RUNTIME\nw1\s+Ready\s+<none>\s+\S+\s+v1\.34\.0\s+10\.0\.0\.1\s+<none>\s+\S.*\S\s+\S+\s+containerd:\/\/\S+\n$/,
    );
  });

  test('a StatefulSet: rollout status, get -o wide, set image, scale, describe', async () => {
    const own = await namespace();
    await world().kube.create(extra.statefulSets, statefulSet(own, 'db', 2));
    const run = async (...args: readonly string[]): Promise<string> =>
      (await world().kubectl(['-n', own, ...args])).out;
    expect(await run('rollout', 'status', 'statefulset/db', '--timeout=30s')).toContain(
      'partitioned roll out complete: 2 new pods have been updated...',
    );
    expect(await run('get', 'statefulsets', '-o', 'wide')).toMatch(
      /^NAME\s+READY\s+AGE\s+CONTAINERS\s+IMAGES\ndb\s+2\/2\s+\d+s\s+main\s+pause:3\.9\n$/,
    );
    expect(await run('set', 'image', 'statefulset/db', 'main=pause:3.10')).toBe(
      'statefulset.apps/db image updated\n',
    );
    expect(await run('rollout', 'status', 'statefulset/db', '--timeout=30s')).toContain(
      'partitioned roll out complete: 2 new pods have been updated...',
    );
    expect(await run('get', 'pods', '-o', 'jsonpath={.items[*].spec.containers[*].image}')).toBe(
      'pause:3.10 pause:3.10',
    );
    expect(await run('scale', 'statefulset/db', '--replicas=1')).toBe(
      'statefulset.apps/db scaled\n',
    );
    expect(await run('wait', '--for=delete', 'pod/db-1', '--timeout=20s')).not.toContain(
      'timed out',
    );
    expect(await run('describe', 'statefulset', 'db')).toMatch(
      /Replicas:\s+1 desired \| 1 total[^]*Normal\s+SuccessfulCreate\s+[^]*create Pod db-0 in StatefulSet db successful/,
    );
  });
}

/** A real kubectl, as in the scenarios. */
export function kubectlUse(context: Context): void {
  describeWithKubectl('kubectl', () => {
    applyTests(context);
    nodeTests(context);
    kindTests(context);
    watchTests(context);
  });
}
