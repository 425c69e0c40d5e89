import {
  addForeignNode,
  instances,
  labelOf,
  nodes,
  ourNodes,
  pods,
  runningPods,
  untilRunning,
} from '@dovetail/test-support/cluster';
import { metric, serviceOf } from '@dovetail/test-support/service-view';
import { eventually, openWorld, type TestWorld, worlds } from '@dovetail/test-support/world';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const zones = ['eu-west-1a', 'eu-west-1b', 'eu-west-1c'];
const namespace = 'team-riker';
/** A batch waits no longer for the two replicas that the quota never admits. */
const env = {
  'pod-watcher': { BATCH_OWNER_IDLE_DURATION: '1s', BATCH_OWNER_MAX_DURATION: '10s' },
} as const;

describe.each(await worlds())('scenario spot-three-zones on the %s world', (world) => {
  let at: TestWorld;
  beforeAll(async () => {
    at = await openWorld({ world, region: 'eu-west-1', zones, env });
    for (const zone of zones) {
      await addForeignNode(at, {
        name: `system-${zone}`,
        labels: { 'topology.kubernetes.io/zone': zone, role: 'system' },
        taints: [{ key: 'CriticalAddonsOnly', value: 'true', effect: 'NoSchedule' }],
      });
    }
    await at.applyScenario('spot-three-zones');
  });
  afterAll(async () => at?.close());

  test('three spot nodes come up, one in each zone, with one pod each; the system nodes are untouched', async () => {
    const running = await untilRunning(at, namespace, 3);
    const ours = await ourNodes(at);
    expect(ours.map((node) => labelOf(node, 'topology.kubernetes.io/zone')).toSorted()).toEqual(
      zones,
    );
    expect(new Set(running.map((pod) => pod.spec.nodeName)).size).toBe(3);
    for (const node of ours)
      expect(node.metadata.labels).toMatchObject({
        'karpenter.sh/capacity-type': 'spot',
        'karpenter.sh/provisioner-name': 'default',
        type: 'karpenter',
      });
    const system = (await nodes(at)).filter((node) => labelOf(node, 'role') === 'system');
    expect(system).toHaveLength(3);
    for (const node of system)
      expect(node.spec?.taints?.map((taint) => taint.key)).toEqual(['CriticalAddonsOnly']);
  });

  test('kubectl shows spot, zone and provisioner of the three, and blanks for the others', async () => {
    const table = await at.kubectl(
      'get',
      'nodes',
      '-L',
      'karpenter.sh/capacity-type',
      '-L',
      'topology.kubernetes.io/zone',
      '-L',
      'karpenter.sh/provisioner-name',
    );
    const rows = cellsOf(table);
    const shown = (row: Readonly<Record<string, string>>) => ({
      capacityType: row['CAPACITY-TYPE'],
      zone: row['ZONE'],
      provisioner: row['PROVISIONER-NAME'],
    });
    const isSystem = (row: Readonly<Record<string, string>>): boolean =>
      row['NAME']?.startsWith('system-') === true;
    const byZone = (rows: readonly Readonly<Record<string, string>>[]) =>
      rows.map(shown).toSorted((a, b) => ((a.zone ?? '') < (b.zone ?? '') ? -1 : 1));
    expect(byZone(rows.filter((row) => !isSystem(row)))).toEqual(
      zones.map((zone) => ({ capacityType: 'spot', zone, provisioner: 'default' })),
    );
    // The system nodes were made with a zone. They have none of Dovetail's labels.
    expect(byZone(rows.filter(isSystem))).toEqual(
      zones.map((zone) => ({ capacityType: '', zone, provisioner: '' })),
    );
    expect(cellsOf(await at.kubectl('get', 'provisioners'))).toEqual([
      { NAME: 'default', AGE: expect.stringMatching(/^\d+[smhd]/) as unknown },
    ]);
  });

  test("the game's Ingress is kept as it was written, and shown by kubectl", async () => {
    await at.kube.putManifests(ingress);
    expect(cellsOf(await at.kubectl('get', 'ingress', '-n', namespace))).toEqual([
      {
        NAME: 'ingress-2048',
        CLASS: 'alb',
        HOSTS: '*',
        ADDRESS: '',
        PORTS: '80',
        AGE: expect.stringMatching(/^\d+[smhd]/) as unknown,
      },
    ]);
  });

  test('a Spot interruption moves the pod before two minutes are over and avoids that type and zone', async () => {
    const [victim] = (await instances(at)).filter((instance) => instance.zone === zones[0]);
    if (victim === undefined) throw new Error(`no instance in ${zones[0]}`);
    await at.cloud('POST', 'interrupt', { instanceId: victim.instanceId });
    await eventually(
      'the interrupted node gone and three pods running elsewhere',
      async () => {
        const left = (await instances(at)).some(
          (instance) => instance.instanceId === victim.instanceId,
        );
        return !left && (await runningPods(at, namespace)).length === 3;
      },
      110_000,
    );
    const replacement = (await instances(at)).filter((instance) => instance.zone === victim.zone);
    for (const instance of replacement) expect(instance.instanceType).not.toBe(victim.instanceType);
    await eventually('the interruption as a decision', () =>
      at.decisions.of('interrupt').some((decision) => decision.instanceId === victim.instanceId),
    );
  });

  test('scaled to twelve, the quota admits ten pods, and the other two cause no node', async () => {
    await at.kubectl('scale', '-n', namespace, 'deployment/deployment-2048', '--replicas=12');
    await untilRunning(at, namespace, 10);
    expect(
      (await pods(at, namespace)).filter((pod) => pod.metadata.deletionTimestamp === undefined),
    ).toHaveLength(10);
    const used = new Set((await runningPods(at, namespace)).map((pod) => pod.spec.nodeName));
    for (const node of await ourNodes(at)) expect(used).toContain(node.metadata.name);
  });

  test('without ttlSecondsUntilExpired nodes never expire: after a hundred days they are the same, with the same pods', async () => {
    const alive = async (): Promise<readonly string[]> =>
      [
        ...(await ourNodes(at)).map(({ metadata }) => metadata.uid ?? ''),
        ...(await instances(at)).map(({ instanceId }) => instanceId),
        ...(await runningPods(at, namespace)).map(({ metadata }) => metadata.uid ?? ''),
      ].toSorted();
    const before = await alive();
    const reaper = await serviceOf(at.lab, 'reaper');
    const passes = (): Promise<number> =>
      metric(reaper, 'karpenter_voluntary_disruption_decision_evaluation_duration_seconds_count');
    const disrupted = (): number => at.decisions.of('disrupt').length;
    const [disruptedBefore, passesBefore] = [disrupted(), await passes()];
    await at.lab.advanceClock(100 * 24 * 3_600_000);
    // A pass taints a node at once if it would retire it, and ends it in a later pass.
    await eventually(
      'four passes over all nodes',
      async () => (await passes()) >= passesBefore + 4,
    );
    expect(await alive()).toEqual(before);
    for (const node of await ourNodes(at))
      expect(node.spec?.taints?.map(({ key }) => key)).toEqual(['karpenter']);
    expect(disrupted()).toBe(disruptedBefore);
  });
});

/** As the guide to the 2048 game has it. No controller here gives it an address. */
const ingress = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: ingress-2048
  namespace: ${namespace}
  annotations: { alb.ingress.kubernetes.io/scheme: internet-facing, alb.ingress.kubernetes.io/target-type: ip }
spec:
  ingressClassName: alb
  rules:
    - http:
        paths:
          - { path: /, pathType: Prefix, backend: { service: { name: service-2048, port: { number: 80 } } } }
`;

/** The rows of a table in the form of kubectl, by the names of its columns. A blank is ''. */
function cellsOf(table: string): readonly Readonly<Record<string, string>>[] {
  const [head = '', ...rows] = table.trimEnd().split('\n');
  const columns = [...head.matchAll(/\S+/g)].map(({ 0: name, index }) => ({ name, from: index }));
  return rows.map((row) =>
    Object.fromEntries(
      columns.map(({ name, from }, index) => [
        name,
        row.slice(from, columns[index + 1]?.from).trim(),
      ]),
    ),
  );
}
