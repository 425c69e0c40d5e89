import { present } from '@dovetail/core-invariant';
import type { Pod } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import { compose } from '../compose/compose.js';
import { defaultPlanOptions } from '../options.js';
import type { ExistingNode } from '../snapshot.js';
import { nodeOf, podOf, podsOf, selecting, snapshotOf } from '../testing/objects.js';
import { worldOf } from '../world/world.js';
import { nodeReasons } from './nodes.js';

/** Why the nodes do not take the pod `p` of a plan that has been made; there are no pools. */
function reasonsFor(
  pod: Partial<Pod>,
  nodes: readonly ExistingNode[],
  beside: readonly Pod[] = [],
) {
  const pods = [podOf('p', pod), ...beside];
  const world = worldOf(snapshotOf({ nodes }), pods, defaultPlanOptions);
  const { engine } = compose(world);
  const cls = world.classes.find(({ uids }) => uids.includes('p'));
  return nodeReasons(engine, present(cls, 'the pod has a class'));
}
const codes = (...made: Parameters<typeof reasonsFor>): readonly string[] =>
  reasonsFor(...made).map(({ code, fell }) => `${code} on ${fell?.count} of ${fell?.of}`);

const full = podOf('run', { phase: 'Running', requests: { cpu: 4000 } });
const taints = [{ key: 'x', effect: 'NoSchedule' as const }];
const port = { ip: '', port: 80, protocol: 'TCP' as const };
const apart = (topologyKey: string): Partial<Pod> => ({
  labels: { app: 'web' },
  requiredPodAntiAffinity: [{ topologyKey, selector: selecting({ app: 'web' }), namespaces: [] }],
});
const web = podOf('run', { phase: 'Running', labels: { app: 'web' } });

describe('the first thing that rules out a node', () => {
  test.each<[string, Partial<Pod>, Partial<ExistingNode>, string]>([
    ['a taint', {}, { taints, pods: [full] }, 'taint-not-tolerated'],
    ['a label', { nodeSelector: { team: 'x' } }, { pods: [full] }, 'requirement-mismatch'],
    ['its room', { hostPorts: [port] }, { pods: [full] }, 'node-full'],
    [
      'a host port',
      { hostPorts: [port] },
      { pods: [podOf('run', { phase: 'Running', hostPorts: [port] })] },
      'host-port',
    ],
    ['a rule over hosts', apart('kubernetes.io/hostname'), { pods: [web] }, 'pod-anti-affinity'],
    [
      'a rule over racks',
      apart('rack'),
      { pods: [web], labels: { rack: '1' } },
      'pod-anti-affinity',
    ],
    ['that it is cordoned', {}, { cordoned: true }, 'node-cordoned'],
    ['that it is being deleted', {}, { state: 'deleting' }, 'node-cordoned'],
  ])('is %s', (_, pod, node, code) => {
    expect(codes(pod, [nodeOf('n', node)])).toEqual([`${code} on 1 of 1`]);
  });
});

describe('existing nodes are grouped by it', () => {
  test('most nodes first, and each group says how many of all it is', () => {
    const nodes = [
      nodeOf('tainted', { taints }),
      nodeOf('full-1', { pods: [full] }),
      nodeOf('full-2', { pods: [full] }),
      nodeOf('closed-1', { cordoned: true }),
      nodeOf('closed-2', { cordoned: true }),
      nodeOf('closed-3', { state: 'deleting' }),
    ];
    expect(codes({}, nodes)).toEqual([
      'node-cordoned on 3 of 6',
      'node-full on 2 of 6',
      'taint-not-tolerated on 1 of 6',
    ]);
  });

  test('and by name where two groups are as large', () => {
    const other = [{ key: 'y', effect: 'NoSchedule' as const }];
    const reasons = reasonsFor({}, [nodeOf('m', { taints: other }), nodeOf('n', { taints })]);
    expect(reasons.map(({ values }) => values['taint'])).toEqual(['x:NoSchedule', 'y:NoSchedule']);
  });

  test('there is none without nodes', () => {
    expect(reasonsFor({}, [])).toEqual([]);
  });
});

test('a node that this plan filled names the pods that it put there', () => {
  const beside = podsOf('q', 4, { requests: { cpu: 1000 } });
  const [reason] = reasonsFor({ requests: { cpu: 500 } }, [nodeOf('n')], beside);
  expect(reason?.code).toBe('node-full');
  expect(reason?.message).toContain('this plan put default/q-0 (4 pods) there');
});
