import type { Pod } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { defaultPlanOptions } from '../options.js';
import type { NewNode, Placement } from '../plan.js';
import type { ExistingNode } from '../snapshot.js';
import { nodeOf, podOf, selecting, snapshotOf } from '../testing/objects.js';
import { checkBinAmong } from './check.js';
import { StandingNodes } from './standing-nodes.js';

const zoneKey = 'topology.kubernetes.io/zone';
const lonely: Partial<Pod> = {
  requiredPodAntiAffinity: [
    { topologyKey: zoneKey, selector: selecting({ app: 'web' }), namespaces: [] },
  ],
};
const even: Partial<Pod> = {
  topologySpread: [
    {
      maxSkew: 1,
      topologyKey: zoneKey,
      whenUnsatisfiable: 'DoNotSchedule',
      selector: selecting({ app: 'web' }),
      nodeAffinityPolicy: 'Honor',
      nodeTaintsPolicy: 'Ignore',
    },
  ],
};
const kinds: readonly Partial<Pod>[] = [{}, lonely, even];
const around = snapshotOf({});
const place = (node: string): Placement => ({
  nodeUid: `node-${node}`,
  nodeName: node,
  podUids: ['asked'],
  topologyGroups: [],
});
const ask = (standing: StandingNodes, node: string, kind: Partial<Pod>): readonly string[] =>
  checkBinAmong(
    standing,
    around,
    {
      bin: place(node),
      pods: [podOf('asked', { labels: { app: 'web' }, ...kind })],
      beside: { newNodes: [], placements: [] },
    },
    defaultPlanOptions,
  ).map(({ code, where }) => `${code} at ${where}`);

test('nodes kept through changes answer as nodes that were read at once', () => {
  const pods = fc.array(fc.tuple(fc.integer({ min: 0, max: 2 }), fc.boolean()), { maxLength: 3 });
  const nodes = fc.uniqueArray(
    fc.record({
      name: fc.constantFrom('a', 'b', 'c', 'd'),
      zone: fc.constantFrom('x', 'y'),
      pods,
      asBefore: fc.boolean(),
    }),
    { selector: ({ name }) => name, maxLength: 4 },
  );
  fc.assert(
    fc.property(fc.array(nodes, { minLength: 2, maxLength: 4 }), (looks) => {
      const standing = new StandingNodes();
      const held = new Map<string, ExistingNode>();
      let uid = 0;
      for (const look of looks) {
        const now = look.map(({ name, zone, pods: its, asBefore }) => {
          const before = held.get(name);
          if (asBefore && before !== undefined) return before;
          const fresh = nodeOf(name, {
            labels: { [zoneKey]: zone },
            pods: its.map(([kind, web]) =>
              podOf(`p-${(uid += 1)}`, {
                phase: 'Running',
                labels: { app: web ? 'web' : 'db' },
                ...kinds[kind],
              }),
            ),
          });
          held.set(name, fresh);
          return fresh;
        });
        standing.keep(now);
        for (const { name } of now)
          for (const kind of kinds)
            expect(ask(standing, name, kind)).toEqual(ask(new StandingNodes(now), name, kind));
      }
    }),
    { numRuns: 200 },
  );
});

describe('of 1,000 standing nodes', () => {
  /** Counts how often a node's pods are read. */
  function counted(name: string, reads: { count: number }): ExistingNode {
    const node = nodeOf(name, { labels: { [zoneKey]: 'a' } });
    return Object.defineProperty({ ...node }, 'pods', {
      get: () => {
        reads.count += 1;
        return [];
      },
    });
  }
  test('a question reads only those that are new since the last one', () => {
    const reads = { count: 0 };
    const nodes = Array.from({ length: 1_000 }, (_, index) => counted(`n-${index}`, reads));
    const standing = new StandingNodes(nodes);
    const first = reads.count;
    const seen: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      reads.count = 0;
      nodes.push(counted(`new-${round}`, reads));
      standing.keep(nodes);
      ask(standing, 'n-1', even);
      seen.push(reads.count);
    }
    expect(first).toBe(1_000);
    // The new node, and the one that is asked about.
    expect(Math.max(...seen)).toBeLessThanOrEqual(3);
  });

  test('nodes that were read and not kept are dropped, though the kept ones stay the same', () => {
    const nodes = [nodeOf('a', { labels: { [zoneKey]: 'a' } })];
    const standing = new StandingNodes(nodes);
    standing.keep(nodes);
    standing.read([nodeOf('gone', { labels: { [zoneKey]: 'b' } })]);
    standing.keep(nodes);
    expect(standing.domainsWith([], 'name', ({ name }) => name)).toBe(1);
  });
});

describe('the bins of one plan, asked about one by one', () => {
  const bins = Array.from({ length: 60 }, (_, index): NewNode => ({
    id: `bin-${String(index)}`,
    pool: { kind: 'NodePool', name: 'default' },
    options: [],
    requirements: [],
    labels: {},
    taints: [],
    requests: {},
    podUids: [`p-${String(index)}`],
    topologyGroups: ['web'],
    minValuesRelaxed: false,
    notes: [],
  }));
  /** Asks about each bin beside those that follow, and counts how often a pod's claims are read. */
  function asking(standingFor: () => StandingNodes) {
    let reads = 0;
    const pods = bins.map(({ podUids: [uid = ''] }, index) =>
      Object.defineProperty(
        { ...podOf(uid, { labels: { app: 'web' }, ...kinds[index % 3] }) },
        'volumes',
        {
          get: () => {
            reads += 1;
            return [];
          },
        },
      ),
    );
    const answers = bins.map((bin, index) => {
      const beside = { newNodes: bins.slice(index + 1), placements: [] };
      // As admission asks: about the bin with its options narrowed, which is another value.
      const question = { bin: { ...bin }, pods: pods.slice(index), beside };
      return checkBinAmong(standingFor(), around, question, defaultPlanOptions);
    });
    return { reads, answers };
  }

  test('are each read a few times, and answered as by a checker that begins anew', () => {
    const standing = new StandingNodes();
    const kept = asking(() => standing);
    const anew = asking(() => new StandingNodes());
    expect(kept.answers).toEqual(anew.answers);
    expect(kept.answers.flat().length).toBeGreaterThan(0);
    expect(kept.reads).toBeLessThan(bins.length * 10);
    expect(anew.reads).toBeGreaterThan(bins.length * 20);
  });
});
