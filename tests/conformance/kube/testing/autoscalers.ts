import { type KubeObject } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import { describeWithKubectl } from './kubectl.js';
import { deployment, extra } from './objects.js';
import { type Context, eventually } from './suite.js';
import { messagesIn } from './workload-pods.js';

type Fields = Readonly<Record<string, unknown>>;

const web = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
const resource = (target: Fields, name = 'cpu'): Fields => ({
  type: 'Resource',
  resource: { name, target },
});
const policy = { type: 'Pods', value: 1, periodSeconds: 60 };

const autoscaler = (
  spec: Fields,
): KubeObject & { readonly apiVersion: string; readonly kind: string } => ({
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'web' },
  spec: { scaleTargetRef: web, maxReplicas: 5, ...spec },
});

const refused: readonly (readonly [what: string, spec: Fields, words: string])[] = [
  [
    'no pods at most',
    { maxReplicas: 0 },
    '\n* spec.maxReplicas: Invalid value: 0: must be greater than 0\n* spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`',
  ],
  [
    'no pods at least',
    { minReplicas: 0 },
    '\n* spec.minReplicas: Invalid value: 0: must be greater than or equal to 1\n* spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas',
  ],
  [
    'more at least than at most',
    { minReplicas: 7 },
    'spec.maxReplicas: Invalid value: 5: must be greater than or equal to `minReplicas`',
  ],
  [
    'a target without group',
    { scaleTargetRef: { kind: 'Deployment', name: 'web' } },
    'spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group',
  ],
  [
    'a metric without target',
    { metrics: [resource({ type: 'Utilization' })] },
    'spec.metrics[0].resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization',
  ],
  [
    'a metric with two targets',
    { metrics: [resource({ type: 'Utilization', averageUtilization: 50, averageValue: '1' })] },
    'spec.metrics[0].resource.target.averageValue: Forbidden: may not set both a target raw value and a target utilization',
  ],
  [
    'a metric of no source',
    { metrics: [{ type: 'Resource' }] },
    'spec.metrics[0].resource: Required value: must populate information for the given metric source',
  ],
  [
    'a policy over no time',
    { behavior: { scaleUp: { policies: [{ ...policy, periodSeconds: 0 }] } } },
    'spec.behavior.scaleUp.policies[0].periodSeconds: Invalid value: 0: must be greater than zero',
  ],
  [
    'a window of two hours',
    { behavior: { scaleDown: { stabilizationWindowSeconds: 7200 } } },
    'spec.behavior.scaleDown.stabilizationWindowSeconds: Invalid value: 7200: must be less than or equal to 3600',
  ],
];

const oldForm = {
  apiVersion: 'autoscaling/v1',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'old' },
  spec: { scaleTargetRef: web, maxReplicas: 4, targetCPUUtilizationPercentage: 65 },
};

function kubectlCases(context: Context): void {
  const { world, namespace } = context;
  const create = async (own: string, object: unknown): Promise<string> =>
    (await world().kubectl(['-n', own, 'create', '-f', '-'], JSON.stringify(object))).out.trim();

  test.each(refused)('refuses an autoscaler with %s', async (_what, spec, words) =>
    expect(await create(await namespace(), autoscaler(spec))).toBe(
      `The HorizontalPodAutoscaler "web" is invalid: ${words}`,
    ),
  );

  test('an autoscaler gets its defaults, and both versions show it', async () => {
    const own = await namespace();
    const json = async (kind: string, name: string, path: string): Promise<unknown> => {
      const { out } = await world().kubectl([
        '-n',
        own,
        'get',
        kind,
        name,
        '-o',
        `jsonpath={${path}}`,
      ]);
      return out === '' ? undefined : JSON.parse(out);
    };
    const metrics = [resource({ type: 'AverageValue', averageValue: '2Gi' }, 'memory')];
    const behavior = { scaleUp: { policies: [policy] } };
    await create(own, autoscaler({ metrics, behavior }));
    await create(own, oldForm);
    expect(await json('hpa', 'web', '.spec')).toEqual({
      scaleTargetRef: web,
      minReplicas: 1,
      maxReplicas: 5,
      metrics,
      behavior: {
        scaleUp: { stabilizationWindowSeconds: 0, selectPolicy: 'Max', policies: [policy] },
        scaleDown: {
          selectPolicy: 'Max',
          policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
        },
      },
    });
    expect(await json('hpa', 'old', '.spec.metrics')).toEqual([
      resource({ type: 'Utilization', averageUtilization: 65 }),
    ]);
    expect(await json('horizontalpodautoscalers.v1.autoscaling', 'old', '.spec')).toEqual({
      ...oldForm.spec,
      minReplicas: 1,
    });
    expect(await json('horizontalpodautoscalers.v1.autoscaling', 'web', '.spec')).toEqual({
      scaleTargetRef: web,
      minReplicas: 1,
      maxReplicas: 5,
    });
    const inV1 = await json(
      'horizontalpodautoscalers.v1.autoscaling',
      'web',
      '.metadata.annotations',
    );
    expect(
      JSON.parse((inV1 as Record<string, string>)['autoscaling.alpha.kubernetes.io/metrics'] ?? ''),
    ).toEqual([{ type: 'Resource', resource: { name: 'memory', targetAverageValue: '2Gi' } }]);
  });

  test('an autoscaler of the older version is applied by the server, twice and with a change', async () => {
    const own = await namespace();
    const apply = async (percent: number): Promise<string> => {
      const spec = { ...oldForm.spec, targetCPUUtilizationPercentage: percent };
      const text = JSON.stringify({ ...oldForm, spec });
      return (await world().kubectl(['-n', own, 'apply', '--server-side', '-f', '-'], text)).out;
    };
    for (const percent of [65, 65, 70])
      expect(await apply(percent)).toBe(
        'horizontalpodautoscaler.autoscaling/old serverside-applied\n',
      );
    const { out } = await world().kubectl(['-n', own, 'get', 'hpa', 'old', '--no-headers']);
    expect(out).toContain('cpu: <unknown>/70%');
  });

  test('kubectl get shows the targets of an autoscaler', async () => {
    const own = await namespace();
    await create(
      own,
      autoscaler({
        metrics: [
          resource({ type: 'Utilization', averageUtilization: 70 }),
          resource({ type: 'AverageValue', averageValue: '1Gi' }, 'memory'),
        ],
      }),
    );
    expect((await world().kubectl(['-n', own, 'get', 'hpa'])).out).toMatch(
      /^NAME\s+REFERENCE\s+TARGETS\s+MINPODS\s+MAXPODS\s+REPLICAS\s+AGE\nweb\s+Deployment\/web\s+cpu: <unknown>\/70%, memory: <unknown>\/1Gi\s+1\s+5\s+0\s+\d+s\n$/,
    );
  });
}

type Condition = {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
};

const conditionsOf = async (
  { world }: Context,
  own: string,
  name = 'web',
): Promise<readonly Condition[]> => {
  const found = await world().kube.get({ resource: extra.autoscalers, namespace: own, name });
  return (found?.['status'] as { conditions?: readonly Condition[] } | undefined)?.conditions ?? [];
};

const noMetrics =
  'failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics from resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)';

/** HorizontalPodAutoscalers: their rules, and what they do without measurements. */
export function autoscalerTests(context: Context): void {
  const { world, namespace } = context;
  describeWithKubectl('kubectl and autoscalers', () => kubectlCases(context));

  test('an autoscaler keeps to its bounds, and says that it has no measurements', async () => {
    const own = await namespace();
    const { kube } = world();
    await kube.create(extra.deployments, deployment(own, 'web', 1));
    await kube.create(extra.autoscalers, {
      ...autoscaler({ minReplicas: 3 }),
      metadata: { name: 'web', namespace: own },
    });
    const scaled = await eventually(
      () => messagesIn(context, own, 'SuccessfulRescale'),
      (list) => list.length > 0,
    );
    expect(scaled).toEqual([
      'New size: 3; reason: Current number of replicas below Spec.MinReplicas',
    ]);
    const conditions = await eventually(
      () => conditionsOf(context, own),
      (list) => list.length > 1,
    );
    expect(conditions).toEqual([
      expect.objectContaining({
        type: 'AbleToScale',
        status: 'True',
        reason: 'SucceededGetScale',
        message: "the HPA controller was able to get the target's current scale",
      }),
      expect.objectContaining({
        type: 'ScalingActive',
        status: 'False',
        reason: 'FailedGetResourceMetric',
        message: `the HPA was unable to compute the replica count: ${noMetrics}`,
      }),
    ]);
    expect(
      await eventually(
        () => messagesIn(context, own, 'FailedComputeMetricsReplicas'),
        (list) => list.length > 0,
      ),
    ).toEqual([
      `invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: ${noMetrics}`,
    ]);
    expect(await messagesIn(context, own, 'FailedGetResourceMetric')).toEqual([noMetrics]);
  });

  test('an autoscaler of something that cannot be scaled says why', async () => {
    const own = await namespace();
    const failures: Readonly<Record<string, readonly [kind: string, why: string]>> = {
      gone: ['Deployment', 'deployments.apps "web" not found'],
      nothing: ['Nothing', 'no matches for kind "Nothing" in group "apps"'],
      daemons: ['DaemonSet', 'the server could not find the requested resource'],
    };
    for (const [name, [kind]] of Object.entries(failures))
      await world().kube.create(extra.autoscalers, {
        ...autoscaler({ scaleTargetRef: { ...web, kind } }),
        metadata: { name, namespace: own },
      });
    for (const [name, [, why]] of Object.entries(failures))
      expect(
        await eventually(
          () => conditionsOf(context, own, name),
          (list) => list.length > 0,
        ),
      ).toEqual([
        expect.objectContaining({
          type: 'AbleToScale',
          status: 'False',
          reason: 'FailedGetScale',
          message: `the HPA controller was unable to get the target's current scale: ${why}`,
        }),
      ]);
    const said = await eventually(
      () => messagesIn(context, own, 'FailedGetScale'),
      (list) => list.length > 2,
    );
    expect(said.toSorted()).toEqual(
      Object.values(failures)
        .map(([, why]) => why)
        .toSorted(),
    );
  });
}
