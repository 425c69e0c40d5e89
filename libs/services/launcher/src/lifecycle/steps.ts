import { labels, taints, type NodeClaim } from '@dovetail/core-api';
import { describeTaint, isEphemeralTaint, type Node, type Resources, type Taint } from '@dovetail/core-kube-model';
import type { NewCondition } from './conditions.js';

const sameTaint = (a: Taint, b: Taint): boolean => a.key === b.key && a.effect === b.effect;

/** Why a node is not initialised yet, in Karpenter's reasons; undefined when it is. */
export function notInitialized(node: Node, claim: NodeClaim): NewCondition | undefined {
  const unknown = (reason: string, message: string): NewCondition => ({ type: 'Initialized', status: 'Unknown', reason, message });
  if (!node.ready) return unknown('NodeNotReady', 'Node status is NotReady');
  const startup = node.taints.find((taint) => claim.startupTaints.some((other) => sameTaint(other, taint)));
  if (startup !== undefined) return unknown('StartupTaintsExist', `StartupTaint "${describeTaint(startup)}" still exists`);
  const ephemeral = node.taints.find(isEphemeralTaint);
  if (ephemeral !== undefined) return unknown('KnownEphemeralTaintsExist', `KnownEphemeralTaint "${describeTaint(ephemeral)}" still exists`);
  const missing = missingResource(claim.requests, node.allocatable);
  return missing === undefined ? undefined : unknown('ResourceNotRegistered', `Resource "${missing}" was requested but not registered`);
}

function missingResource(requests: Resources, allocatable: Resources): string | undefined {
  return Object.keys(requests).sort().find((name) => (requests[name] ?? 0) > 0 && (allocatable[name] ?? 0) === 0);
}

/** The taints of a registered node: its own and the claim's, without the one that says that it is not. */
export function registeredTaints(node: Node, claim: NodeClaim): readonly Taint[] {
  const kept = node.taints.filter((taint) => taint.key !== taints.unregistered.key);
  if (node.labels[labels.doNotSyncTaints] === 'true') return kept;
  const wanted = [...claim.taints, ...claim.startupTaints];
  return [...kept, ...wanted.filter((taint) => !kept.some((other) => sameTaint(other, taint)))];
}

/** Taints as the API takes them. */
export const taintObjects = (all: readonly Taint[]): readonly Readonly<Record<string, string>>[] =>
  all.map(({ key, value, effect }) => ({ key, effect, ...(value === undefined || value === '' ? {} : { value }) }));
