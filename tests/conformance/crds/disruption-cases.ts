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
    name: 'a command that is taken back',
    object: disruption({}, { phase: 'TakenBack', message: 'n1 is needed again' }),
  },
  { name: 'a command of one node', object: disruption({ nodesOut: many(1) }), refused: /nodesOut/ },
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
