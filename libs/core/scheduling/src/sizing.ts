import { put } from '@dovetail/core-invariant';
import { parseResource, type Resources } from '@dovetail/core-kube-model';

import type { PlanOptions } from './snapshot.js';

/** The settings that decide how large new nodes are. */
export type Sizing = Pick<
  PlanOptions,
  'nodeChargeMicrosPerHour' | 'fewerNodesPermille' | 'assumedRequests'
>;

/**
 * The default of `assumedRequests`, as a setting is written. It is the least that the recommender
 * of the Vertical Pod Autoscaler recommends for a pod: its flags
 * pod-recommendation-min-cpu-millicores and pod-recommendation-min-memory-mb.
 */
export const defaultAssumedRequests = 'cpu=25m,memory=250Mi';

/**
 * Reads the amounts that a pod without requests counts as, such as `cpu=25m,memory=250Mi`. `none`
 * stands for no amounts. Returns undefined for other text: a name besides cpu and memory, a name
 * twice, or a negative amount.
 */
export function assumedRequestsOf(text: string): Resources | undefined {
  const amounts: Record<string, number> = {};
  for (const part of text === 'none' ? [] : text.split(',')) {
    const [name = '', value = '', ...more] = part.split('=');
    const amount = parseResource(name, value);
    if (!['cpu', 'memory'].includes(name) || Object.hasOwn(amounts, name) || more.length > 0)
      return undefined;
    if (amount === undefined || amount < 0) return undefined;
    put(amounts, name, amount);
  }
  return amounts;
}

/** Reads a percentage from 0 to 10 with at most one decimal, in thousandths. */
export const permilleOf = (text: string): number | undefined =>
  /^(10|[0-9](\.[0-9])?)$/.test(text) ? Math.round(Number(text) * 10) : undefined;

/**
 * The sizes of nodes that the services plan unless their settings differ. The charge is AWS' price
 * of a public IPv4 address, $0.005 an hour, which each node of a public subnet has. One percent
 * trades price for nodes: it is little beside what a node more costs to run.
 */
export const defaultSizing: Sizing = {
  nodeChargeMicrosPerHour: 5_000,
  fewerNodesPermille: 10,
  assumedRequests: assumedRequestsOf(defaultAssumedRequests) ?? {},
};

/** The sizes of nodes for which only the price of instances and the requests of pods count. */
export const leastPrice: Sizing = {
  nodeChargeMicrosPerHour: 0,
  fewerNodesPermille: 0,
  assumedRequests: {},
};
