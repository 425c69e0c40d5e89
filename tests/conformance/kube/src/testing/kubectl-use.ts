import { describe, expect, test } from '@jest/globals';
import type { Context } from './suite.js';

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
    const run = async (...args: readonly string[]): Promise<string> => (await world().kubectl(['-n', own, ...args])).out;
    expect((await world().kubectl(['-n', own, 'apply', '-f', '-'], manifest(2))).out).toBe('deployment.apps/web created\n');
    expect(await run('rollout', 'status', 'deployment/web', '--timeout=30s')).toContain('deployment "web" successfully rolled out');
    expect((await world().kubectl(['-n', own, 'apply', '-f', '-'], manifest(2))).out).toBe('deployment.apps/web unchanged\n');
    expect(await run('scale', 'deployment/web', '--replicas=3')).toBe('deployment.apps/web scaled\n');
    expect(await run('rollout', 'status', 'deployment/web', '--timeout=30s')).toContain('successfully rolled out');
    expect(await run('get', 'deployments', '-o', 'wide')).toMatch(/^NAME\s+READY\s+UP-TO-DATE\s+AVAILABLE\s+AGE\s+CONTAINERS\s+IMAGES\s+SELECTOR\nweb\s+3\/3\s+3\s+3\s+\d+s\s+main\s+pause:3\.9\s+app=web\n$/);
    expect(await run('get', 'pods', '-o', 'wide')).toMatch(/^NAME\s+READY\s+STATUS\s+RESTARTS\s+AGE\s+IP\s+NODE\s+NOMINATED NODE\s+READINESS GATES\n(web-\w+-\w+\s+1\/1\s+Running\s+0\s+\d+s\s+10\.\S+\s+w\d\s+<none>\s+<none>\n){3}$/);
    expect(await run('describe', 'deployment', 'web')).toMatch(/Replicas:\s+3 desired \| 3 updated \| 3 total \| 3 available \| 0 unavailable/);
    expect(await run('describe', 'pods')).toMatch(/Successfully assigned/);
    expect(await run('events')).toMatch(/Normal\s+ScalingReplicaSet\s+Deployment\/web\s+Scaled up replica set web-\w+ from 2 to 3/);
    expect(await run('get', 'events')).toMatch(/^LAST SEEN\s+TYPE\s+REASON\s+OBJECT\s+MESSAGE\n/);
    expect(await run('delete', 'deployment', 'web', '--timeout=20s')).toContain('deleted');
    expect(await run('wait', '--for=delete', 'pod', '-l', 'app=web', '--timeout=20s')).not.toContain('timed out');
  }, 90_000);

  test.each([
    ['an unknown field', 'spec: {containers: [{name: a, image: b, foo: 1}]}', 'strict decoding error: unknown field "spec.containers[0].foo"'],
    ['a value of another type', 'spec: {containers: [{name: a, image: b}], priority: high}', 'cannot unmarshal string into Go struct field PodSpec.spec.priority of type int32'],
    ['a missing image', 'spec: {containers: [{name: a}]}', 'spec.containers[0].image: Required value'],
    ['more requested than allowed', 'spec: {containers: [{name: a, image: b, resources: {requests: {cpu: 2}, limits: {cpu: 1}}}]}', 'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'],
  ])('apply refuses %s', async (_what, spec, words) => {
    const own = await namespace();
    const { code, out } = await world().kubectl(['-n', own, 'apply', '-f', '-'], `apiVersion: v1\nkind: Pod\nmetadata: {name: bad}\n${spec}\n`);
    expect(out).toContain(words);
    expect(code).toBe(1);
  });

  test('server-side apply owns its fields: others conflict, and what is left out goes', async () => {
    const own = await namespace();
    const apply = (manager: string, data: string, ...more: readonly string[]): Promise<{ readonly code: number; readonly out: string }> =>
      world().kubectl(['-n', own, 'apply', '--server-side', `--field-manager=${manager}`, ...more, '-f', '-'], `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: ${data}\n`);
    expect(await apply('one', '{a: "1", b: "1"}')).toMatchObject({ code: 0 });
    expect(await apply('two', '{a: "2"}')).toMatchObject({ code: 1, out: expect.stringContaining('conflict with "one": .data.a') as unknown });
    expect(await apply('two', '{a: "2"}', '--force-conflicts')).toMatchObject({ code: 0 });
    expect(await apply('one', '{c: "1"}')).toMatchObject({ code: 0 });
    expect((await world().kubectl(['-n', own, 'get', 'configmap', 'c', '-o', 'jsonpath={.data}'])).out).toBe('{"a":"2","c":"1"}');
  });
}

function nodeTests({ world, namespace }: Context): void {
  test('label, annotate, taint, cordon, drain, uncordon, and -L columns', async () => {
    const own = await namespace();
    const run = async (...args: readonly string[]): Promise<string> => (await world().kubectl(args)).out;
    expect(await run('label', 'node', 'w1', 'team=one')).toBe('node/w1 labeled\n');
    expect(await run('annotate', 'node', 'w1', 'note=x')).toBe('node/w1 annotated\n');
    expect(await run('taint', 'node', 'w1', 'k=v:PreferNoSchedule')).toBe('node/w1 tainted\n');
    expect(await run('get', 'nodes', '-L', 'team', '-L', 'topology.kubernetes.io/zone')).toMatch(/^NAME\s+STATUS\s+ROLES\s+AGE\s+VERSION\s+TEAM\s+ZONE\nw1\s+Ready\s+<none>\s+\S+\s+v1\.34\.0\s+one\s+zone-a\n/);
    expect(await run('taint', 'node', 'w1', 'k:PreferNoSchedule-')).toBe('node/w1 untainted\n');
    await world().kubectl(['-n', own, 'apply', '-f', '-'], manifest(3));
    await run('-n', own, 'rollout', 'status', 'deployment/web', '--timeout=30s');
    expect(await run('drain', 'w1', '--ignore-daemonsets', '--force', '--timeout=30s')).toContain('node/w1 drained');
    expect(await run('get', 'node', 'w1')).toMatch(/w1\s+Ready,SchedulingDisabled/);
    expect(await run('uncordon', 'w1')).toBe('node/w1 uncordoned\n');
    expect(await run('describe', 'node', 'w1')).toMatch(/ProviderID:\s+aws:\/\/\/zone-a\/w1/);
  }, 90_000);

  test('create namespace, deployment, job and budget by words, as people do', async () => {
    const own = await namespace();
    const run = async (...args: readonly string[]): Promise<string> => (await world().kubectl(['-n', own, ...args])).out;
    expect(await run('create', 'namespace', `${own}-more`)).toBe(`namespace/${own}-more created\n`);
    expect(await run('create', 'deployment', 'by-words', '--image=pause:3.9', '--replicas=2')).toBe('deployment.apps/by-words created\n');
    expect(await run('create', 'job', 'by-words', '--image=busybox', '--', 'sleep', '0.1')).toBe('job.batch/by-words created\n');
    expect(await run('create', 'poddisruptionbudget', 'by-words', '--selector=app=by-words', '--min-available=1')).toBe('poddisruptionbudget.policy/by-words created\n');
    expect(await run('wait', '--for=condition=complete', 'job/by-words', '--timeout=30s')).toBe('job.batch/by-words condition met\n');
    expect(await run('get', 'pdb')).toMatch(/^NAME\s+MIN AVAILABLE\s+MAX UNAVAILABLE\s+ALLOWED DISRUPTIONS\s+AGE\nby-words\s+1\s+N\/A\s+\d\s+\S+\n$/);
    expect(await run('delete', 'namespace', `${own}-more`, '--timeout=30s')).toContain('deleted');
  }, 90_000);
}

/** A real kubectl, as in the scenarios. */
export function kubectlUse(context: Context): void {
  describe('kubectl', () => {
    applyTests(context);
    nodeTests(context);
  });
}
