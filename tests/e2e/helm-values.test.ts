import { workers } from '@dovetail/contracts';
import {
  helmFor,
  type Rendered,
  rendererOf,
  requiredValues,
  theOne,
} from '@dovetail/test-support/chart';
import { describe, expect, test } from 'vitest';

/** Values of the chart reach pods and the objects around them, as a real Helm renders it. */
const helm = await helmFor('values of the chart');
const render = rendererOf(helm);

type Fields = Readonly<Record<string, unknown>>;
type Deployment = Rendered & {
  readonly spec: {
    readonly replicas?: number;
    readonly template: {
      readonly metadata: Fields & { readonly labels: Readonly<Record<string, string>> };
      readonly spec: Fields & { readonly containers: readonly Fields[] };
    };
  } & Fields;
};
type Other = Rendered & { readonly spec: Fields };

const services = ['pod-watcher', 'solver', 'launcher', 'reaper'] as const;

async function deployment(service: string, ...values: readonly string[]): Promise<Deployment> {
  return theOne(await render(...values), 'Deployment', `-${service}`);
}
const podOf = async (service: string, ...values: readonly string[]): Promise<Fields> =>
  (await deployment(service, ...values)).spec.template.spec;
const container = async (service: string, ...values: readonly string[]): Promise<Fields> =>
  (await deployment(service, ...values)).spec.template.spec.containers[0] ?? {};

const ofService = (service: string) => ({
  matchLabels: {
    'app.kubernetes.io/name': 'dovetail',
    'app.kubernetes.io/instance': 'dovetail',
    'app.kubernetes.io/component': service,
  },
});
const onHostname = (service: string) => ({
  topologyKey: 'kubernetes.io/hostname',
  labelSelector: ofService(service),
});

(helm === undefined ? describe.skip : describe)('values of the chart', () => {
  test('a budget by minAvailable has no maxUnavailable beside it, which the API would refuse', async () => {
    const objects = await render('common.podDisruptionBudget.minAvailable=1');
    const { spec }: Other = theOne(objects, 'PodDisruptionBudget', '-solver');
    expect(spec).toMatchObject({ minAvailable: 1 });
    expect(spec).not.toHaveProperty('maxUnavailable');
  });

  test('pods that are recreated have no rollingUpdate, which the API would refuse', async () => {
    const { spec } = await deployment('launcher', 'common.strategy.type=Recreate');
    expect(spec).toHaveProperty('strategy', { type: 'Recreate' });
  });

  test('alerts name the runbook by the address that is given', async () => {
    const base = 'https://git.example.com/dovetail/blob/main/';
    const objects = await render(
      'metrics.prometheusRule.enabled=true',
      `metrics.prometheusRule.runbookBase=${base}`,
    );
    const { spec }: Other = theOne(objects, 'PrometheusRule', '-alerts');
    expect(JSON.stringify(spec)).toContain(`"${base}docs/guides/runbook.md#dovetailpodswait"`);
    expect(JSON.stringify(spec)).not.toContain('"docs/guides');
  });

  test("a service's own block wins, and adds to the maps of all", async () => {
    const values = [
      'common.podAnnotations.a=all',
      'services.reaper.podAnnotations.b=own',
      'services.reaper.tolerations[0].key=own',
      'services.reaper.nodeSelector.disk=fast',
      'services.reaper.priorityClassName=own',
      'common.hostNetwork=true',
      'services.reaper.hostNetwork=false',
      ...['podWatcher', 'solver'].map((name, index) => `services.${name}.port=${8_081 + index}`),
    ];
    const { spec } = await deployment('reaper', ...values);
    expect(spec.template.metadata).toMatchObject({ annotations: { a: 'all', b: 'own' } });
    expect(spec.template.spec).toMatchObject({
      tolerations: [{ key: 'own' }],
      nodeSelector: { 'kubernetes.io/os': 'linux', disk: 'fast' },
      priorityClassName: 'own',
    });
    expect(spec.template.spec).not.toHaveProperty('hostNetwork');
    expect(await podOf('launcher', ...values)).toMatchObject({
      hostNetwork: true,
      dnsPolicy: 'ClusterFirstWithHostNet',
      priorityClassName: 'system-cluster-critical',
      tolerations: [{ key: 'CriticalAddonsOnly', operator: 'Exists' }],
    });
  });

  test.each(services)('two pods of %s spread over zones and hosts', async (service) => {
    const pod = await podOf(service);
    expect(pod['topologySpreadConstraints']).toEqual([
      {
        maxSkew: 1,
        topologyKey: 'topology.kubernetes.io/zone',
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: ofService(service),
      },
    ]);
    expect(pod['affinity']).toMatchObject({
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: expect.anything() },
      podAntiAffinity:
        service === 'solver'
          ? {
              preferredDuringSchedulingIgnoredDuringExecution: [
                { weight: 100, podAffinityTerm: onHostname(service) },
              ],
            }
          : { requiredDuringSchedulingIgnoredDuringExecution: [onHostname(service)] },
    });
  });

  test.each([
    ['schedulerName=own', { schedulerName: 'own' }],
    ['dnsPolicy=Default', { dnsPolicy: 'Default' }],
    ['dnsConfig.nameservers[0]=10.0.0.2', { dnsConfig: { nameservers: ['10.0.0.2'] } }],
    ['terminationGracePeriodSeconds=90', { terminationGracePeriodSeconds: 90 }],
    ['podSecurityContext.fsGroup=1', { securityContext: { runAsNonRoot: true, fsGroup: 1 } }],
    ['initContainers[0].name=first', { initContainers: [{ name: 'first' }] }],
    ['sidecars[0].name=proxy', { containers: [{ name: 'reaper' }, { name: 'proxy' }] }],
    ['extraVolumes[0].name=ca', { volumes: [{ name: 'logging' }, { name: 'ca' }] }],
  ])('%s reaches the pods of every service, or of one', async (value, pod) => {
    expect(await podOf('reaper', `common.${value}`)).toMatchObject(pod);
    expect(await podOf('reaper', `services.reaper.${value}`)).toMatchObject(pod);
    expect(await podOf('launcher', `services.reaper.${value}`)).not.toMatchObject(pod);
  });

  test.each([
    ['envFrom[0].secretRef.name=own', { envFrom: [{ secretRef: { name: 'own' } }] }],
    [
      'extraEnv.TOKEN.valueFrom.secretKeyRef.name=own',
      {
        env: expect.arrayContaining([
          { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'own' } } },
        ]),
      },
    ],
    ['securityContext.privileged=false', { securityContext: { privileged: false } }],
    ['livenessProbe.timeoutSeconds=7', { livenessProbe: { timeoutSeconds: 7, periodSeconds: 10 } }],
  ])('%s reaches the container', async (value, wanted) =>
    expect(await container('launcher', `services.launcher.${value}`)).toMatchObject(wanted),
  );

  test('a volume of its own is mounted beside the credentials', async () => {
    const values = ['nats.credentialsSecret=nats', 'common.extraVolumes[0].name=ca'];
    const mount = ['name=ca', 'mountPath=/ca'].map((each) => `common.extraVolumeMounts[0].${each}`);
    expect((await container('solver', ...values, ...mount))['volumeMounts']).toEqual([
      { name: 'logging', mountPath: '/etc/dovetail-logging', readOnly: true },
      { name: 'nats', mountPath: '/etc/nats', readOnly: true },
      { name: 'ca', mountPath: '/ca' },
    ]);
  });

  test('each service follows the level of its log in one ConfigMap, which people may edit', async () => {
    const values = ['logLevel=warn', 'services.solver.env.LOG_LEVEL=debug'];
    const objects = await render(...values);
    const map = theOne<Rendered & { readonly data: Fields }>(objects, 'ConfigMap', '-logging');
    expect(map.data).toEqual({
      launcher: 'warn',
      'pod-watcher': 'warn',
      reaper: 'warn',
      solver: 'debug',
    });
    for (const service of services) {
      expect((await podOf(service, ...values))['volumes']).toEqual([
        { name: 'logging', configMap: { name: map.metadata.name, optional: true } },
      ]);
      expect((await container(service, ...values))['env']).toContainEqual({
        name: 'LOG_LEVEL_FILE',
        value: `/etc/dovetail-logging/${service}`,
      });
    }
  });

  test('a service starts in its own time, and has time to end', async () => {
    const startupProbe = { httpGet: { path: '/healthz', port: 'http' }, failureThreshold: 30 };
    expect(await container('launcher')).toMatchObject({ startupProbe });
    expect(await podOf('launcher')).toMatchObject({ terminationGracePeriodSeconds: 75 });
    expect(await podOf('solver')).toMatchObject({ terminationGracePeriodSeconds: 30 });
  });

  test('names, labels and annotations are the ones that were asked for', async () => {
    const objects = await render('fullnameOverride=scaler', 'additionalLabels.team=a');
    expect(objects.every(({ metadata }) => metadata.name.includes('scaler'))).toBe(true);
    const labels = {
      'helm.sh/chart': 'dovetail-0.1.0',
      'app.kubernetes.io/managed-by': 'Helm',
      'app.kubernetes.io/version': '0.1.0',
      team: 'a',
    };
    for (const { metadata } of objects) expect(metadata.labels).toMatchObject(labels);
    for (const { metadata } of await render('additionalAnnotations.owner=b'))
      expect(metadata.annotations).toMatchObject({ owner: 'b' });
    const { spec } = await deployment('solver', 'services.solver.podLabels.own=c');
    expect(spec.template.metadata.labels).toEqual({ ...ofService('solver').matchLabels, own: 'c' });
  });

  test('what belongs to no namespace is named after the namespace of the release', async () => {
    const clusterWide = (await render()).filter(({ metadata }) => metadata.namespace === undefined);
    expect(clusterWide.length).toBeGreaterThan(5);
    for (const { metadata } of clusterWide) expect(metadata.name).toMatch(/^dovetail\.dovetail-/);
  });

  test('an account that is there already gets the rights', async () => {
    const values = ['create=false', 'name=mine'].map(
      (each) => `services.launcher.serviceAccount.${each}`,
    );
    const objects = await render(...values);
    expect(
      objects.filter(
        ({ kind, metadata }) => kind === 'ServiceAccount' && /launcher|mine/.test(metadata.name),
      ),
    ).toEqual([]);
    expect(await podOf('launcher', ...values)).toMatchObject({ serviceAccountName: 'mine' });
    expect(theOne(objects, 'ClusterRoleBinding', 'launcher')).toMatchObject({
      subjects: [{ kind: 'ServiceAccount', name: 'mine', namespace: 'dovetail' }],
    });
  });

  test.each([
    ['hpa', 'HorizontalPodAutoscaler', { minReplicas: 2, maxReplicas: 10 }],
    ['keda', 'ScaledObject', { minReplicaCount: 2, maxReplicaCount: 10 }],
  ])('solvers that scale by %s have no fixed number', async (kind, made, spec) => {
    const values = [
      `services.solver.autoscaling.kind=${kind}`,
      'services.solver.autoscaling.natsMonitoring=nats.nats:8222',
    ];
    expect((await deployment('solver')).spec.replicas).toBe(2);
    expect((await deployment('solver', ...values)).spec).not.toHaveProperty('replicas');
    expect((await deployment('reaper', ...values)).spec.replicas).toBe(2);
    const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'dovetail-solver' };
    expect(theOne(await render(...values), made, 'solver')).toMatchObject({
      spec: { ...spec, scaleTargetRef },
    });
  });

  test.each(services)(
    'without a number of %s, an upgrade leaves the number as it is',
    async (name) => {
      const block = name === 'pod-watcher' ? 'podWatcher' : name;
      const { spec } = await deployment(name, `services.${block}.replicas=null`);
      expect(spec).not.toHaveProperty('replicas');
    },
  );

  test.each([
    ['nats', 'replicas'],
    ['', 'nodeCharge'],
    ['', 'fewerNodesWithin'],
    ['', 'consolidationMoveCost'],
    ['networkPolicy', 'natsPort'],
    ['networkPolicy', 'otelPort'],
    ['apiPriority', 'shares'],
    ['common', 'port'],
    ['common', 'revisionHistoryLimit'],
    ['common', 'terminationGracePeriodSeconds'],
    ['services.launcher', 'heapMiB'],
    ['services.solver', 'heapMiB'],
    ['services.solver.autoscaling', 'minReplicas'],
    ['services.solver.autoscaling', 'cooldownPeriod'],
  ])('in %j, %s is refused if it is null, which would mean 0', (block, name) =>
    expect(render(`${block === '' ? '' : `${block}.`}${name}=null`)).rejects.toThrow(
      `missing property '${name}'`,
    ),
  );

  test('KEDA asks NATS about the consumer that all solvers share', async () => {
    const { stream, name } = workers.solvers('lab');
    const values = ['kind=keda', 'natsMonitoring=nats.nats:8222'];
    const objects = await render(...values.map((each) => `services.solver.autoscaling.${each}`));
    const metadata = { stream, consumer: name, account: '$G', lagThreshold: '4' };
    expect(theOne<Other>(objects, 'ScaledObject', 'solver').spec['triggers']).toEqual([
      {
        type: 'nats-jetstream',
        metadata: { natsServerMonitoringEndpoint: 'nats.nats:8222', ...metadata },
      },
    ]);
  });

  test.each(services)('the metrics of %s are found in three ways', async (service) => {
    const values = ['metrics.podMonitor.enabled=true', 'metrics.serviceMonitor.enabled=true'];
    const objects = await render(...values, 'metrics.podMonitor.labels.release=prometheus');
    const selector = ofService(service);
    expect(theOne(objects, 'Service', service)).toMatchObject({
      spec: {
        selector: selector.matchLabels,
        ports: [{ name: 'http-metrics', port: 8_080, targetPort: 'http' }],
      },
    });
    expect(theOne(objects, 'PodMonitor', service)).toMatchObject({
      metadata: { labels: { release: 'prometheus' } },
      spec: { selector, podMetricsEndpoints: [{ port: 'http', path: '/metrics' }] },
    });
    expect(theOne(objects, 'ServiceMonitor', service)).toMatchObject({
      spec: { selector, endpoints: [{ port: 'http-metrics', path: '/metrics' }] },
    });
    expect((await render()).filter(({ kind }) => kind.endsWith('Monitor'))).toEqual([]);
  });

  test('a priority level of its own is made only with shares', async () => {
    const level = 'PriorityLevelConfiguration';
    expect((await render()).map(({ kind }) => kind)).not.toContain(level);
    const own = await render('apiPriority.shares=20', 'apiPriority.level=dovetail');
    expect(theOne(own, level, 'dovetail')).toMatchObject({
      spec: { limited: { nominalConcurrencyShares: 20 } },
    });
    expect(theOne(own, 'FlowSchema', '-calls')).toMatchObject({
      spec: { priorityLevelConfiguration: { name: 'dovetail' } },
    });
  });

  test('the values that every installation gives are all that it needs', async () => {
    expect(requiredValues).toHaveLength(4);
    expect((await render()).filter(({ kind }) => kind === 'Deployment')).toHaveLength(4);
  });
});
