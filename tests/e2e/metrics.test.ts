import { untilRunning } from '@dovetail/test-support/cluster';
import { poolReady } from '@dovetail/test-support/placement';
import { metricsComplaints, prometheusFor } from '@dovetail/test-support/prometheus';
import { serviceOf } from '@dovetail/test-support/service-view';
import { deploymentManifest, poolManifest } from '@dovetail/test-support/workload';
import { eventually, openWorld, type TestWorld } from '@dovetail/test-support/world';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const promtool = await prometheusFor('promtool', 'what promtool says of the metrics');
/** Gauges with names of other kinds, as Karpenter has them. */
const misnamed: Readonly<Record<string, readonly string[]>> = {
  launcher: ['karpenter_nodepools_cost_total'],
  reaper: ['karpenter_cluster_state_node_count'],
};
const services = ['pod-watcher', 'solver-0', 'launcher', 'reaper'] as const;

/** Scrapes a running lab after a node was launched, while a pod waits that fits nowhere. */
(promtool === undefined ? describe.skip : describe)('metrics, as scraped from a lab', () => {
  let at: TestWorld;
  const page = async (service: string): Promise<string> =>
    (await fetch(`${(await serviceOf(at.lab, service)).httpUrl}/metrics`)).text();

  beforeAll(async () => {
    at = await openWorld({ world: 'twin' });
    const pool = { clusterName: at.lab.options.clusterName, instanceTypes: ['c5.large'] };
    await at.kube.putManifests(poolManifest(pool));
    await poolReady(at);
    const load = { name: 'load', cpu: '700m', memory: '100Mi', replicas: 4 };
    await at.kube.putManifests(deploymentManifest(load));
    await untilRunning(at, 'default', load.replicas);
    await at.kube.putManifests(deploymentManifest({ ...load, name: 'large', cpu: '60' }));
  });
  afterAll(() => at?.close());

  test.each(services)('promtool has no complaint about the metrics of %s', async (service) => {
    expect(await metricsComplaints(promtool ?? '', await page(service))).toEqual(
      (misnamed[service] ?? []).map((name) => expect.stringContaining(name) as string),
    );
  });

  test('promtool complains about a page with a counter that is not named as one', async () => {
    const wrong = '# HELP nodes Nodes\n# TYPE nodes counter\nnodes 1\n';
    expect(await metricsComplaints(promtool ?? '', wrong)).toEqual([
      expect.stringMatching(/nodes.*_total/),
    ]);
  });

  test('a page that is not of the text format is a complaint', async () => {
    expect(await metricsComplaints(promtool ?? '', '{"nodes": 1}\n')).not.toEqual([]);
  });

  test.each([
    ['pod-watcher', /^dovetail_pods_unschedulable_total\{reason=".+"\} [1-9]/m],
    ['solver-0', /^karpenter_scheduler_scheduling_duration_seconds_count\{.*\} [1-9]/m],
    ['launcher', /^karpenter_nodeclaims_created_total\{.*nodepool="default".*\} [1-9]/m],
    ['launcher', /^karpenter_nodepools_cost_total\{nodepool="default"\} 0\.[0-9]*[1-9]/m],
    ['launcher', /^karpenter_nodepools_usage\{.*resource_type="nodes"\} [1-9]/m],
    [
      'launcher',
      /^karpenter_cloudprovider_instance_type_offering_available\{.*"c5\.large".*\} 1$/m,
    ],
    ['reaper', /^karpenter_nodes_allocatable\{.*nodepool="default".*resource_type="cpu"\} 1\.93$/m],
    ['reaper', /^karpenter_pods_state\{name="large-.*,phase="Pending",/m],
    ['reaper', /^karpenter_cluster_state_node_count [1-9]/m],
    ['launcher', /^karpenter_nodes_created_total\{nodepool="default",zone="us-west-2."\} [1-9]/m],
    ['reaper', /^karpenter_nodepools_allowed_disruptions\{.*nodepool="default".*\} \d/m],
  ] as const)('the metrics of %s tell of the work that was done', async (service, line) => {
    await eventually(`${String(line)} of ${service}`, async () => line.test(await page(service)));
  });
});
