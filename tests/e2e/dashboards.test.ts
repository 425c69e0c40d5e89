import { join } from 'node:path';

import { claims, untilRunning } from '@dovetail/test-support/cluster';
import { poolReady } from '@dovetail/test-support/placement';
import {
  hasData,
  prometheusFor,
  type RunningPrometheus,
  startPrometheus,
} from '@dovetail/test-support/prometheus';
import { serviceOf } from '@dovetail/test-support/service-view';
import { deploymentManifest, poolManifest } from '@dovetail/test-support/workload';
import { eventually, openWorld, type TestWorld } from '@dovetail/test-support/world';
import { dashboards } from '@dovetail/tools/dashboards';
import { karpenterPanels } from '@dovetail/tools/karpenter-panels';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const program = await prometheusFor('prometheus', 'the queries of the dashboards');
const services = ['pod-watcher', 'solver-0', 'launcher', 'reaper'] as const;

/** The causes that panels wait for and that happen in the lab below. */
const happened: ReadonlySet<string> = new Set([
  'a bound is proven for a plan',
  'a claim is given up',
  'a claim is made',
  'a fleet is asked for',
  'a node ends',
  'a node is disrupted',
  'a node is given up for its cost',
  'a node is launched',
  'a node joins',
  'a plan is judged',
  'a plan leaves a pod out',
  'a pod fits nowhere',
  'a pool has limits',
  'a second instance of a pool ends',
  'an instance is launched',
  'pod-watcher has asked NATS once',
  'pods are planned',
  'the first node of a type and image joins',
  'the reaper has compared the nodes with a plan from nothing (GAP_EVERY)',
  'the reaper has judged the nodes once',
  'a pod starts, and with disableClusterStateObservability',
  'there is a node, and with disableClusterStateObservability',
  'there is a pool',
]);

/** A query as Grafana sends it, with all pools and a window of ten scrapes. */
const asSent = (expr: string): string =>
  expr.replaceAll('$nodepool', '.*').replaceAll('$__rate_interval', '10s');

const panels = dashboards.flatMap(({ name, rows }) =>
  rows.flatMap((row) => row.panels.map((panel) => [name, panel.title, panel] as const)),
);

/** Deployments of a pod that fills a node. */
const one = (name: string, replicas: number): string =>
  deploymentManifest({ name, cpu: '1500m', memory: '100Mi', replicas });

/** A daemon that takes a little of every node. */
const daemon = `
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: agent, namespace: kube-system }
spec:
  selector: { matchLabels: { app: agent } }
  template:
    metadata: { labels: { app: agent } }
    spec:
      tolerations: [{ operator: Exists }]
      containers:
        - name: agent
          image: public.ecr.aws/eks-distro/kubernetes/pause:3.9
          resources: { requests: { cpu: 50m, memory: 20Mi } }
`;

/** A pool that may have 100 cores. */
const limitedPool = (clusterName: string): string =>
  poolManifest({ clusterName, instanceTypes: ['c5.large'], consolidateAfter: '1s' }).replace(
    'spec:\n  template:',
    'spec:\n  limits: { cpu: 100, memory: 1000Gi }\n  template:',
  );

/** Scrapes a running lab in which two nodes come and go, while a pod waits that fits nowhere. */
(program === undefined ? describe.skip : describe)('dashboards, of a lab', () => {
  let at: TestWorld;
  let prometheus: RunningPrometheus;
  const has = async (expr: string): Promise<boolean> => hasData(await prometheus.query(expr));
  const ended = (nodes: number): Promise<unknown> =>
    eventually(`Prometheus to see the end of ${nodes} nodes`, () =>
      has(`sum(karpenter_nodes_terminated_total) == ${nodes}`),
    );

  beforeAll(async () => {
    at = await openWorld({ world: 'twin', env: { reaper: { GAP_EVERY: '2s' } } });
    const views = services.map(async (name) => [name, await serviceOf(at.lab, name)] as const);
    prometheus = await startPrometheus({
      program: program ?? '',
      dir: join(at.lab.options.dir, 'prometheus'),
      services: Object.fromEntries(await Promise.all(views)),
    });
    // A histogram's first value is lost to rate() unless the zero before it was scraped.
    await eventually('a scrape of every service', () => has(`sum(up) == ${services.length}`));
    await at.kube.putManifests(daemon);
    await at.kube.putManifests(limitedPool(at.lab.options.clusterName));
    await poolReady(at);
    await at.kube.putManifests(one('first', 1));
    await at.kube.putManifests(one('second', 1));
    await untilRunning(at, 'default', 2);
    const large = { name: 'large', cpu: '60', memory: '100Mi', replicas: 1 };
    await at.kube.putManifests(deploymentManifest(large));
    await at.kube.putManifests(one('first', 0));
    await ended(1);
    await at.kube.putManifests(one('second', 0));
    await ended(2);
    await eventually('no claim', async () => (await claims(at)).length === 0);
  });
  afterAll(async () => {
    await prometheus?.stop();
    await at?.close();
  });

  test.each(panels)('the queries of %s, %s, are answered', async (_name, _title, panel) => {
    const mustHave = panel.emptyUntil === undefined || happened.has(panel.emptyUntil);
    for (const { expr } of panel.queries) {
      const answered = await eventually(`data of ${expr}`, async () => {
        const series = await prometheus.query(asSent(expr));
        return mustHave && !hasData(series) ? undefined : series;
      });
      expect(answered).toBeDefined();
    }
  });

  test('a query that Prometheus cannot parse is a complaint', async () =>
    expect(prometheus.query('sum(')).rejects.toThrow('parse error'));

  test.each(
    karpenterPanels
      .filter(({ notDrawn }) => notDrawn === undefined)
      .map(({ dashboard, panel, metric, labels }) => [dashboard, panel, metric, labels] as const),
  )("Karpenter's %s dashboard, %s, has data of %s", async (_dashboard, _panel, metric, labels) => {
    const matchers = labels.map((label) => `${label}!=""`).join(', ');
    const expr = `count by (${labels.join(', ')}) (${metric}{${matchers}})`;
    await eventually(`data of ${expr}`, () => has(expr));
  });

  test('every cause that happened in the lab is one that a panel waits for', () => {
    const causes = panels.map(([, , { emptyUntil }]) => emptyUntil);
    expect([...happened].filter((cause) => !causes.includes(cause))).toEqual([]);
  });
});
