import { annotations, tags } from '@dovetail/core-api';
import { kubeResources } from '@dovetail/core-ports';
import { claims, instances, untilRunning } from '@dovetail/test-support/cluster';
import { ranCommand } from '@dovetail/test-support/command';
import {
  type OtlpReceiver,
  otlpReceiver,
  type ReceivedSpan,
} from '@dovetail/test-support/otlp-receiver';
import { poolReady } from '@dovetail/test-support/placement';
import { logged, serviceOf } from '@dovetail/test-support/service-view';
import { deploymentManifest, poolManifest } from '@dovetail/test-support/workload';
import { eventually, openWorld, type TestWorld } from '@dovetail/test-support/world';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** Spans are sent every fifth of a second, and not every five. */
const quick = { OTEL_BSP_SCHEDULE_DELAY: '200' } as const;
const load = { name: 'load', cpu: '700m', memory: '100Mi', replicas: 2 };

async function opened(env: Readonly<Record<string, string>>): Promise<TestWorld> {
  const at = await openWorld({ world: 'twin', env: { '*': { ...quick, ...env } } });
  const pool = { clusterName: at.lab.options.clusterName, instanceTypes: ['c5.large'] };
  await at.kube.putManifests(poolManifest(pool));
  await poolReady(at);
  return at;
}

describe('traces of a lab whose services are told where to send them', () => {
  let receiver: OtlpReceiver;
  let at: TestWorld;
  const called = (name: string): readonly ReceivedSpan[] =>
    receiver.spans.filter((span) => span.name === name);
  const one = (name: string): ReceivedSpan => {
    const [span, ...others] = called(name);
    expect([name, span === undefined, others]).toEqual([name, false, []]);
    return span as ReceivedSpan;
  };

  beforeAll(async () => {
    receiver = await otlpReceiver();
    at = await opened({
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    });
    await at.kube.putManifests(deploymentManifest(load));
    await untilRunning(at, 'default', load.replicas);
    await eventually('the last span', () => Promise.resolve(called('initialize').length > 0));
    await eventually('the plan', () => Promise.resolve(called('plan').length > 0));
  });
  afterAll(async () => {
    await at?.close();
    await receiver?.close();
  });

  test('one trace leads from the pending pods to the ready node, with each span under its cause', () => {
    const tree = ['batch', 'plan', 'admit', 'create-fleet', 'launch', 'register', 'initialize'];
    const shown = tree.map((name) => {
      const { service, parentId, traceId } = one(name);
      const parent = receiver.spans.find(
        (span) => span.spanId === parentId && span.traceId === traceId,
      );
      return [name, service.replace('dovetail-', ''), parent?.name];
    });
    expect(shown).toEqual([
      ['batch', 'pod-watcher', undefined],
      ['plan', 'solver', 'batch'],
      ['admit', 'launcher', 'plan'],
      ['create-fleet', 'launcher', 'admit'],
      ['launch', 'launcher', 'admit'],
      ['register', 'launcher', 'admit'],
      ['initialize', 'launcher', 'admit'],
    ]);
    expect(new Set(tree.map((name) => one(name).traceId)).size).toBe(1);
    expect(receiver.refused).toEqual([]);
  });

  test('no span begins before its cause, and the work ends in its order', () => {
    const ordered = ['batch', 'plan', 'admit', 'launch', 'register', 'initialize'].map(one);
    for (const span of receiver.spans) {
      const parent = receiver.spans.find(({ spanId }) => spanId === span.parentId);
      expect([span.name, span.startMs <= span.endMs]).toEqual([span.name, true]);
      expect([span.name, span.startMs >= (parent?.startMs ?? 0)]).toEqual([span.name, true]);
    }
    const ends = ordered.map(({ endMs }) => endMs);
    expect(ends).toEqual(ends.toSorted((a, b) => a - b));
  });

  test('decisions, the claim and the instance name the trace, and so do the commands', async () => {
    const { traceId, spanId } = one('admit');
    for (const kind of ['plan', 'admit', 'launch', 'register', 'initialize'] as const)
      expect(at.decisions.of(kind).map((decision) => decision.traceId)).toEqual([traceId]);
    const [claim] = await claims(at);
    expect(claim?.metadata.annotations?.[annotations.traceparent]).toBe(
      `00-${traceId}-${spanId}-01`,
    );
    await eventually('the tag', async () => {
      const [instance] = await instances(at);
      return instance?.tags[tags.traceId] === traceId;
    });
    const [node] = await at.list(kubeResources.nodes, { labelSelector: 'karpenter.sh/nodepool' });
    const { httpUrl } = await serviceOf(at.lab, 'reaper');
    const asked = await ranCommand({
      name: 'cli',
      folder: '.',
      args: ['explain', 'node', node?.metadata.name ?? '', '--reaper', httpUrl],
    });
    expect(asked).toMatchObject({ code: 0, output: expect.stringContaining(traceId) });
  });

  test('the resource names service, replica and cluster, with the attributes of the environment', () => {
    expect(one('plan').resource).toMatchObject({
      'service.name': 'dovetail-solver',
      'service.instance.id': 'solver-0',
      'k8s.cluster.name': 'lab',
      'deployment.environment.name': 'test',
    });
    expect(one('launch').attributes).toMatchObject({
      'host.type': 'c5.large',
      'dovetail.pool': 'NodePool/default',
      'dovetail.capacity_type': 'on-demand',
    });
  });

  test('the retirement of the node is a trace of its own, linked to the launch', async () => {
    await at.kube.putManifests(deploymentManifest({ ...load, replicas: 0 }));
    await eventually('the retirement', () => Promise.resolve(called('retire').length > 0));
    const root = one('retire');
    expect([root.parentId, root.links]).toEqual([
      '',
      [{ traceId: one('admit').traceId, spanId: one('admit').spanId }],
    ]);
    for (const name of ['disrupt', 'drain', 'terminate'])
      expect([name, one(name).traceId, one(name).parentId]).toEqual([
        name,
        root.traceId,
        root.spanId,
      ]);
    expect(at.decisions.of('terminate').map(({ traceId }) => traceId)).toEqual([root.traceId]);
  });
});

describe.each<[string, () => Promise<OtlpReceiver>]>([
  [
    'is not there',
    async () => {
      const gone = await otlpReceiver();
      await gone.close();
      return { ...gone, close: () => Promise.resolve() };
    },
  ],
  ['never answers', () => otlpReceiver(() => undefined)],
  ['refuses everything', () => otlpReceiver((response) => void response.writeHead(400).end())],
])('a receiver that %s', (_what, start) => {
  test('holds up no pod and no service, and is told of in the log', async () => {
    const receiver = await start();
    const at = await opened({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.url}/v1/traces`,
      OTEL_EXPORTER_OTLP_TIMEOUT: '1000',
    });
    try {
      await at.kube.putManifests(deploymentManifest(load));
      await untilRunning(at, 'default', load.replicas);
      const launcher = at.lab.parts.get('launcher');
      await eventually(
        'a line of the log',
        async () => (await logged(launcher, 'traces-not-sent')).length === 1,
      );
      for (const name of ['pod-watcher', 'solver-0', 'launcher', 'reaper']) {
        const { httpUrl } = await serviceOf(at.lab, name);
        expect([name, (await fetch(`${httpUrl}/readyz`)).status]).toEqual([name, 200]);
      }
    } finally {
      await at.close();
      await receiver.close();
    }
  });
});

test('services that are not told where send nothing, and mark no claim', async () => {
  const at = await opened({});
  try {
    await at.kube.putManifests(deploymentManifest(load));
    await untilRunning(at, 'default', load.replicas);
    const [claim] = await claims(at);
    expect(claim?.metadata.annotations).not.toHaveProperty([annotations.traceparent]);
    expect(at.decisions.all.filter(({ traceId }) => traceId !== undefined)).toEqual([]);
    expect(await logged(at.lab.parts.get('launcher'), 'traces-on')).toEqual([]);
  } finally {
    await at.close();
  }
});
