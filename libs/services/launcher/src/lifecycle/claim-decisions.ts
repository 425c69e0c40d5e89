import { type NodeClaim } from '@dovetail/core-api';
import { formatResources, type Node } from '@dovetail/core-kube-model';
import { claimFacts, conditionOf, type NewDecision } from '@dovetail/service-kit';

/** The decision that a node joined as the claim's. */
export const registerDecision = (
  claim: NodeClaim,
  node: Node,
  at: { readonly nowMs: number; readonly isCordoned: boolean },
): NewDecision => ({
  ...nodeFacts(claim, node),
  id: `register/${claim.uid}/${node.uid}`,
  kind: 'register',
  summary: `${node.name} joined as ${claim.name}`,
  reasons: [
    {
      code: 'instance-joined',
      message: `${node.name} is the node of ${claim.providerId ?? ''}`,
      values: { providerId: claim.providerId ?? '' },
    },
  ],
  facts: {
    secondsSinceLaunch: secondsSinceLaunch(claim, at.nowMs),
    placement: at.isCordoned ? 'bind' : 'scheduler',
  },
});

/** The decision that a claim's node is ready for pods. */
export const initializeDecision = (claim: NodeClaim, node: Node, nowMs: number): NewDecision => ({
  ...nodeFacts(claim, node),
  id: `initialize/${claim.uid}`,
  kind: 'initialize',
  summary: `${node.name} is ready for pods`,
  reasons: [
    {
      code: 'node-initialized',
      message: `${node.name} is Ready, without startup taints, and has its resources; its pods are placed`,
      values: {},
    },
  ],
  facts: { secondsSinceLaunch: secondsSinceLaunch(claim, nowMs), ...memoryFacts(claim, node) },
});

/** The memory for pods as it was planned and as the node reports it, where they differ. */
function memoryFacts(claim: NodeClaim, node: Node): Readonly<Record<string, string>> {
  const memoryOf = ({ allocatable }: Pick<Node, 'allocatable'>): string =>
    formatResources({ memory: allocatable['memory'] ?? 0 })['memory'] ?? '';
  const [memoryPlanned, memory] = [memoryOf(claim), memoryOf(node)];
  return memoryPlanned === memory || claim.allocatable['memory'] === undefined
    ? {}
    : { memoryPlanned, memory };
}

const nodeFacts = (claim: NodeClaim, node: Node): ReturnType<typeof claimFacts> => ({
  ...claimFacts(claim),
  objects: [
    { kind: 'NodeClaim', name: claim.name, uid: claim.uid },
    { kind: 'Node', name: node.name, uid: node.uid },
  ],
});

function secondsSinceLaunch(claim: NodeClaim, nowMs: number): string {
  const sinceMs = conditionOf(claim.conditions, 'Launched')?.lastTransitionMs ?? claim.createdMs;
  return String(Math.max(0, Math.round((nowMs - sinceMs) / 1000)));
}
