import { formatResources, type Pod } from '@dovetail/core-kube-model';
import {
  defaultPlanOptions,
  type Plan,
  plan,
  type Reason,
  type Snapshot,
} from '@dovetail/core-scheduling';

import { columns, type Layout } from '../layout/columns.js';
import { InputError } from '../manifests/input-error.js';
import { isEstimated, podName } from './result.js';
import { assumedText, priceText } from './table.js';

/** A pod's place and the reason, or the reason why it has none. Prices are US dollars per hour. */
export type Explanation =
  | {
      readonly pod: string;
      readonly outcome: 'new-node';
      readonly node: string;
      readonly pool: string;
      readonly with: number;
      readonly options: readonly Option[];
      readonly notes: readonly Reason[];
      /** The charge per node that plans were compared with. Prices leave it out. */
      readonly nodeCharge: number;
      /** The amounts that new nodes count for pods that request none. */
      readonly assumedRequests: Readonly<Record<string, string>>;
      /** Why the nodes that exist did not take it. */
      readonly existing: readonly Reason[];
    }
  | {
      readonly pod: string;
      readonly outcome: 'existing-node';
      readonly node: string;
      readonly with: number;
    }
  | {
      readonly pod: string;
      readonly outcome: 'unschedulable';
      readonly reasons: readonly Reason[];
    };
type Option = {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  readonly price: number;
  readonly priceEstimated: boolean;
};

/**
 * The pod of a name: `namespace/name`, or a name that only one pod has. Throws InputError
 * otherwise.
 */
export function podNamed(name: string, pods: readonly Pod[]): Pod {
  const found = pods.filter((pod) => podName(pod) === name || pod.name === name);
  const exact = found.find((pod) => podName(pod) === name);
  const [only, ...others] = found;
  if (exact !== undefined) return exact;
  if (only !== undefined && others.length === 0) return only;
  if (only !== undefined)
    throw new InputError(
      `--explain ${name} means several pods: write one of ${found.slice(0, 5).map(podName).join(', ')}`,
    );
  const near = pods
    .filter((pod) => pod.name.startsWith(name))
    .slice(0, 3)
    .map(podName);
  throw new InputError(
    `--explain ${name}: no pending pod has this name${near.length === 0 ? '' : `; some that begin so are ${near.join(', ')}`}`,
  );
}

/**
 * Why no existing node takes the pod. It is planned alone, without pools, on the nodes as they
 * are.
 */
function refusalsOf(snapshot: Snapshot, pod: Pod): readonly Reason[] {
  if (snapshot.nodes.length === 0) return [];
  const { unplaced } = plan({ ...snapshot, pools: [] }, [pod], defaultPlanOptions);
  return unplaced.flatMap(({ reasons }) => reasons.filter(({ code }) => code !== 'no-pools'));
}

/** The plan's answer for one pod. */
export function explanationOf(made: Plan, snapshot: Snapshot, pod: Pod): Explanation {
  const name = podName(pod);
  const holds = (one: { readonly podUids: readonly string[] }): boolean =>
    one.podUids.includes(pod.uid);
  const bin = made.newNodes.find(holds);
  if (bin !== undefined) {
    const options = bin.options.map((option): Option => ({
      instanceType: option.instanceType,
      zone: option.zone,
      capacityType: option.capacityType,
      price: option.priceMicrosPerHour / 1_000_000,
      priceEstimated: isEstimated(snapshot, bin, option),
    }));
    return {
      pod: name,
      outcome: 'new-node',
      node: bin.id,
      pool: `${bin.pool.kind}/${bin.pool.name}`,
      with: bin.podUids.length - 1,
      options,
      notes: bin.notes,
      nodeCharge: (made.nodeChargeMicrosPerHour ?? 0) / 1_000_000,
      assumedRequests: formatResources(made.assumedRequests ?? {}),
      existing: refusalsOf(snapshot, pod),
    };
  }
  const placement = made.placements.find(holds);
  if (placement !== undefined)
    return {
      pod: name,
      outcome: 'existing-node',
      node: placement.nodeName,
      with: placement.podUids.length - 1,
    };
  return {
    pod: name,
    outcome: 'unschedulable',
    reasons: made.unplaced.find((one) => one.podUid === pod.uid)?.reasons ?? [],
  };
}

const optionsShown = 10;

function reasonLines(reasons: readonly Reason[]): readonly string[] {
  return reasons.flatMap((reason) => [
    `  ${reason.code}${reason.subject === undefined ? '' : ` (${reason.subject})`}: ${reason.message}`,
    ...(Object.keys(reason.values).length === 0
      ? []
      : [
          `      ${Object.entries(reason.values)
            .map(([key, value]) => `${key}=${value}`)
            .join('  ')}`,
        ]),
    ...(reason.fell === undefined
      ? []
      : [`      ruled out ${reason.fell.count} of ${reason.fell.of}`]),
    ...(reason.remedy === undefined ? [] : [`      remedy: ${reason.remedy}`]),
  ]);
}

/** Says how nodes are sized beyond prices and requests. */
const sizingLines = ({
  nodeCharge,
  assumedRequests,
}: Extract<Explanation, { readonly outcome: 'new-node' }>): readonly string[] =>
  [
    nodeCharge > 0 ? `plans are compared at ${priceText(nodeCharge)}/h more for each node` : '',
    assumedText(assumedRequests),
  ].filter((text) => text !== '');

const othersText = (count: number): string =>
  count === 0 ? 'alone' : `with ${count} ${count === 1 ? 'other' : 'others'}`;

/** The explanation for people. Only a terminal gives a width. */
export function explanationText(explanation: Explanation, layout: Layout = {}): string {
  const lines = ((): readonly string[] => {
    switch (explanation.outcome) {
      case 'existing-node':
        return [
          `${explanation.pod} goes to the existing node ${explanation.node}, ${othersText(explanation.with)}`,
        ];
      case 'unschedulable':
        return [`${explanation.pod} cannot be placed:`, ...reasonLines(explanation.reasons)];
      case 'new-node': {
        const { options } = explanation;
        const rows = options
          .slice(0, optionsShown)
          .map((one) => [
            `  ${one.instanceType}`,
            one.zone,
            one.capacityType,
            priceText(one.price, one.priceEstimated),
          ]);
        return [
          `${explanation.pod} goes to a new node of ${explanation.pool} (${explanation.node}), ${othersText(explanation.with)}`,
          `${options.length} ways to buy it, cheapest first:`,
          columns(['  TYPE', 'ZONE', 'CAPACITY', 'PRICE/H'], rows, layout).trimEnd(),
          ...(options.length > rows.length ? [`  … and ${options.length - rows.length} more`] : []),
          ...sizingLines(explanation),
          ...(explanation.notes.length === 0
            ? []
            : ['why this pool and these types:', ...reasonLines(explanation.notes)]),
          ...(explanation.existing.length === 0
            ? []
            : ['why no node that exists:', ...reasonLines(explanation.existing)]),
        ];
      }
    }
  })();
  return `${lines.join('\n')}\n`;
}
