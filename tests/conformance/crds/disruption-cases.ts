import type { CrdCase } from './crd-objects.js';

type Part = Readonly<Record<string, unknown>>;

const nodeOut = (name: string): Part => ({
  nodeName: name,
  nodeUID: `${name}-uid`,
  claimName: `claim-${name}`,
  claimUID: `claim-${name}-uid`,
});

/** A Disruption of two nodes, valid but for what the parts change in its spec or status. */
export const disruption = (spec: Part = {}, status: Part = {}): object => ({
  apiVersion: 'dovetail.sh/v1alpha1',
  kind: 'Disruption',
  metadata: { name: 'case' },
  spec: { cause: 'underutilized', nodesOut: [nodeOut('n1'), nodeOut('n2')], ...spec },
  status,
});

const many = (count: number): readonly Part[] =>
  Array.from({ length: count }, (_none, index) => nodeOut(`n${String(index)}`));

/** Manifests of the kind Disruption. */
export const disruptionCases: readonly CrdCase[] = [
  { name: 'a command of two nodes', object: disruption() },
  { name: 'a command of a hundred nodes', object: disruption({ nodesOut: many(100) }) },
  {
    name: 'a command that buys a node',
    object: disruption({ planID: 'plan', savingPerHour: '0.0960' }, { phase: 'Tainted' }),
  },
  {
    name: 'a command that tells what it does, and is over',
    object: disruption(
      {
        summary: 'n1, n2 → 1 new node; 1 pod to move',
        nodesIn: [
          {
            pool: 'NodePool/default',
            options: ['m5.large in us-west-2a (on-demand)'],
            pricePerHour: '0.0960',
            maxPricePerHour: '0.1000',
          },
        ],
        moves: [{ pod: 'default/web-1', from: 'n1', to: 'new node 1' }],
        pricePerHourBefore: '0.1920',
        pricePerHourAfter: '0.0960',
        savingPerHour: '0.0960',
        disruptionCost: '3.00',
      },
      { phase: 'Ending', endedAt: '2026-11-26T00:00:00.000Z' },
    ),
  },
  {
    name: 'a command that is taken back',
    object: disruption({}, { phase: 'TakenBack', message: 'n1 is needed again' }),
  },
  { name: 'a command of one node', object: disruption({ nodesOut: many(1) }) },
  { name: 'a command of no node', object: disruption({ nodesOut: [] }), refused: /nodesOut/ },
  {
    name: 'a command of 101 nodes',
    object: disruption({ nodesOut: many(101) }),
    refused: /nodesOut/,
  },
  { name: 'a command without a cause', object: disruption({ cause: undefined }), refused: /cause/ },
  { name: 'a command of an unknown cause', object: disruption({ cause: 'x' }), refused: /cause/ },
  {
    name: 'a command of nodes without a UID',
    object: disruption({ nodesOut: many(2).map((one) => ({ ...one, nodeUID: undefined })) }),
    refused: /nodeUID/,
  },
];
