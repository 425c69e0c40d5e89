import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { allocatableOf, catalogFor } from '@dovetail/core-ec2-model';
import { claims, events, instances, labelOf, ourNodes, pods, untilNothingLeft, untilRunning } from '../support/cluster.js';
import { eventually, openWorld, type TestWorld, worlds } from '../support/world.js';

const nodeClass = { amiFamily: 'Bottlerocket', kubelet: {}, blockDeviceMappings: [] } as const;
const subnetZones = ['eu-west-1a', 'eu-west-1b'];

/** Every type sold in a zone that holds two of the pods and the daemonsets (2125m, 512M, 4 pods), cheapest first: from the catalog alone. */
const typesForTwo = (zone: string): readonly { readonly name: string; readonly price: number }[] => catalogFor('eu-west-1').flatMap(({ facts, onDemandPriceMicrosPerHour: price, zones }) => {
  const { cpu = 0, memory = 0, pods: podsMax = 0 } = allocatableOf(facts, nodeClass);
  const fits = facts.arch === 'amd64' && cpu >= 2_125 && memory >= 512e6 && podsMax >= 4;
  return fits && price !== undefined && zones.includes(zone) ? [{ name: facts.name, price }] : [];
}).toSorted((a, b) => a.price - b.price);

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
    at = await openWorld({ world, region: 'eu-west-1', zones: [...subnetZones] });
    await at.kube.putManifests(`${daemonSet('aws-node', '25m')}---${daemonSet('kube-proxy', '100m')}`);
    await at.applyScenario('team1-zonal-spread', ['provisioners.yaml']);
    await eventually('team1 to be ready', async () => (await at.kubectl('get', 'provisioner', 'team1', '-o', 'jsonpath={.status.conditions[?(@.type=="Ready")].status}')) === 'True');
    await at.applyScenario('team1-zonal-spread', ['workload.yaml']);
  });
  afterAll(async () => at?.close());

  test('two on-demand nodes of team1 are planned and launched, one in each zone, each for two of the pods and the daemonsets', async () => {
    const running = await untilRunning(at, 'default', 4);
    const ours = await ourNodes(at);
    expect(ours.map((node) => labelOf(node, 'topology.kubernetes.io/zone')).toSorted()).toEqual(subnetZones);
    expect(running.map((pod) => pod.spec.nodeName ?? '').toSorted()).toEqual(ours.flatMap(({ metadata: { name } }) => [name, name]).toSorted());
    for (const node of ours) {
      expect(node.metadata.labels).toMatchObject({
        intent: 'apps', 'karpenter.sh/provisioner-name': 'team1', 'karpenter.sh/capacity-type': 'on-demand', 'topology.kubernetes.io/region': 'eu-west-1',
        'kubernetes.io/arch': 'amd64', 'kubernetes.io/os': 'linux', 'kubernetes.io/hostname': node.metadata.name,
      });
      expect(node.spec?.taints).toContainEqual(expect.objectContaining({ key: 'team1', effect: 'NoSchedule' }));
    }
  });

  test('each claim requests 2125m, 512M and 4 pods, and its options are the cheapest types that hold that, up to the 600 that a claim names', async () => {
    const made = await claims(at);
    expect(made).toHaveLength(2);
    for (const claim of made) {
      const { requirements, resources: { requests } } = claim['spec'] as { requirements: { key: string; values?: string[] }[]; resources: { requests: Record<string, string> } };
      expect(requests).toMatchObject({ cpu: '2125m', memory: '512M', pods: '4' });
      const valuesOf = (key: string): readonly string[] => requirements.find((each) => each.key === key)?.values ?? [];
      const options = new Set(valuesOf('node.kubernetes.io/instance-type'));
      const types = typesForTwo(valuesOf('topology.kubernetes.io/zone').join());
      expect(options.size).toBe(Math.min(600, types.length));
      // Equal prices may fall on either side of the 600th.
      const dearest = types[options.size - 1]?.price ?? 0;
      expect(types.filter(({ name, price }) => price < dearest && !options.has(name))).toEqual([]);
      expect([...options].filter((option) => !types.some(({ name, price }) => name === option && price <= dearest))).toEqual([]);
    }
  });

  test('a fleet request carries the cheapest 60 of the options, and the cheapest of all is what runs', async () => {
    const [cheapest] = typesForTwo('eu-west-1a');
    expect(at.decisions.of('admit').map((decision) => decision.priceMicrosPerHour)).toEqual([cheapest?.price, cheapest?.price]);
    for (const launch of at.decisions.of('launch')) expect([Number(launch.facts['types']), launch.priceMicrosPerHour]).toEqual([60, cheapest?.price]);
    expect((await instances(at)).map(({ instanceType }) => instanceType)).toEqual([cheapest?.name, cheapest?.name]);
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
    expect(at.decisions.of('drain').length).toBe(at.decisions.of('launch').length);
  });
});
