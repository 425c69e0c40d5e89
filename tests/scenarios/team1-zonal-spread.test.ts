import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { claims, events, instances, labelOf, ourNodes, pods, untilNothingLeft, untilRunning } from '../support/cluster.js';
import { eventually, openWorld, type TestWorld, worlds } from '../support/world.js';

const daemonSet = (name: string, cpu: string): string => `
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: ${name}, namespace: kube-system }
spec:
  selector: { matchLabels: { app: ${name} } }
  template:
    metadata: { labels: { app: ${name} } }
    spec:
      tolerations: [{ operator: Exists }]
      containers: [{ name: main, image: public.ecr.aws/eks-distro/kubernetes/pause:3.9, resources: { requests: { cpu: ${cpu} } } }]
`;

describe.each(await worlds())('scenario team1-zonal-spread on the %s world', (world) => {
  let at: TestWorld;
  beforeAll(async () => {
    at = await openWorld({ world, region: 'eu-west-1', zones: ['eu-west-1a', 'eu-west-1b'] });
    await at.kube.putManifests(`${daemonSet('aws-node', '25m')}---${daemonSet('kube-proxy', '100m')}`);
    await at.applyScenario('team1-zonal-spread', ['provisioners.yaml']);
    await eventually('team1 to be ready', async () => (await at.kubectl('get', 'provisioner', 'team1', '-o', 'jsonpath={.status.conditions[?(@.type=="Ready")].status}')) === 'True');
    await at.applyScenario('team1-zonal-spread', ['workload.yaml']);
  });
  afterAll(async () => at?.close());

  test('two on-demand nodes of team1 are launched, one in each zone, each for two pods and the daemonsets', async () => {
    await untilRunning(at, 'default', 4);
    const made = await claims(at);
    expect(made).toHaveLength(2);
    for (const claim of made) {
      const spec = claim['spec'] as { resources?: { requests?: Record<string, string> }; requirements: { key: string; values?: string[] }[] };
      expect(spec.resources?.requests).toMatchObject({ cpu: '2125m', pods: '4' });
      expect(spec.requirements.find((each) => each.key === 'node.kubernetes.io/instance-type')?.values?.length).toBeGreaterThan(100);
    }
    const ours = await ourNodes(at);
    expect(ours.map((node) => labelOf(node, 'topology.kubernetes.io/zone')).toSorted()).toEqual(['eu-west-1a', 'eu-west-1b']);
    for (const node of ours) {
      expect(node.metadata.labels).toMatchObject({
        intent: 'apps', 'karpenter.sh/provisioner-name': 'team1', 'karpenter.sh/capacity-type': 'on-demand', 'topology.kubernetes.io/region': 'eu-west-1',
        'kubernetes.io/arch': 'amd64', 'kubernetes.io/os': 'linux', 'kubernetes.io/hostname': node.metadata.name,
      });
      expect(node.spec?.taints).toContainEqual(expect.objectContaining({ key: 'team1', effect: 'NoSchedule' }));
    }
  });

  test('a fleet request carries the cheapest 60 of the options, and the cheapest of all is what runs', async () => {
    const [admitted] = at.decisions.of('admit');
    expect(admitted?.alternatives.length).toBeGreaterThan(5);
    for (const launch of at.decisions.of('launch')) expect(Number(launch.facts['types'])).toBeLessThanOrEqual(60);
    const prices = at.decisions.of('admit').map((decision) => decision.priceMicrosPerHour);
    const launched = at.decisions.of('launch').map((decision) => decision.priceMicrosPerHour);
    expect(launched.toSorted()).toEqual(prices.toSorted());
  });

  test("the launch template's user data is Bottlerocket's, merged with the team's label", async () => {
    for (const instance of await instances(at)) {
      expect(instance.userData).toMatch(/\[settings\.kubernetes/);
      expect(instance.userData).toMatch(/team\s*=\s*"team1"|"team"\s*=\s*"team1"/);
    }
    for (const node of await ourNodes(at)) expect(labelOf(node, 'team')).toBe('team1');
  });

  test('each pod has an event that names its node', async () => {
    const named = (await events(at)).filter((event) => event.involvedObject?.kind === 'Pod' && event.reason === 'Nominated').map((event) => event.involvedObject?.name);
    for (const pod of await pods(at, 'default')) expect(named).toContain(pod.metadata.name);
  });

  test('scaled to 0, each node is tainted, emptied and ended 30 seconds after it is empty', async () => {
    await at.kubectl('scale', 'deployment/inflate-team1', '--replicas=0');
    await eventually('no pods', async () => (await pods(at, 'default')).length === 0);
    await at.lab.advanceClock(31_000);
    await untilNothingLeft(at);
    expect(at.decisions.of('drain').length).toBe(2);
  });
});
