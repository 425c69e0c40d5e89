import type { Comparison, EndVerdict, PricedNode } from '@dovetail/core-disruption';
import { compareText } from '@dovetail/core-kube-model';

/** A comparison with its time and the number of pods that it was about. */
type Compared = Comparison & { readonly atMs: number; readonly pods: number };

/** The sums over all rounds so far. */
type Totals = {
  readonly launches: number;
  readonly ends: number;
  readonly theirsMicrosPerHour: number;
  readonly oursMicrosPerHour: number;
  /** Launches and ends that could not be compared. */
  readonly left: Left;
};

/** How many launches and ends were left out of the comparison. */
export type Left = { readonly launches: number; readonly ends: number };

/** The sums of no round. */
export const noTotals: Totals = {
  launches: 0,
  ends: 0,
  theirsMicrosPerHour: 0,
  oursMicrosPerHour: 0,
  left: { launches: 0, ends: 0 },
};

/** The sums with launches and ends that could not be compared. */
export const withLeft = (totals: Totals, { launches, ends }: Left): Totals => ({
  ...totals,
  left: { launches: totals.left.launches + launches, ends: totals.left.ends + ends },
});

/** The sums with one more round. */
export const added = (totals: Totals, one: Comparison): Totals => ({
  ...totals,
  launches: totals.launches + one.theirs.nodes.length,
  ends: totals.ends + one.ends.length,
  theirsMicrosPerHour: totals.theirsMicrosPerHour + one.theirs.priceMicrosPerHour,
  oursMicrosPerHour: totals.oursMicrosPerHour + one.ours.priceMicrosPerHour,
});

const dollars = (micros: number): string => `$${(micros / 1e6).toFixed(4)}/h`;
const signed = (micros: number): string =>
  `${micros > 0 ? '+' : micros < 0 ? '-' : ''}${dollars(Math.abs(micros))}`;
const counted = (count: number, word: string): string =>
  `${String(count)} ${word}${count === 1 ? '' : 's'}`;

/** `3 nodes, $0.5800/h (2× m6g.2xlarge, 1× c6g.large spot)`, most of one kind first. */
function nodesText(nodes: readonly PricedNode[], priceMicrosPerHour: number): string {
  if (nodes.length === 0) return 'no new node';
  const kinds = new Map<string, number>();
  for (const { instanceType, capacityType } of nodes) {
    const kind = capacityType === 'on-demand' ? instanceType : `${instanceType} ${capacityType}`;
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  const shown = [...kinds]
    .sort(([a, n], [b, m]) => m - n || compareText(a, b))
    .map(([kind, count]) => `${String(count)}× ${kind}`)
    .join(', ');
  return `${counted(nodes.length, 'node')}, ${dollars(priceMicrosPerHour)} (${shown})`;
}

const newNodesPrice = (nodes: readonly PricedNode[]): number =>
  nodes.reduce((total, { priceMicrosPerHour }) => total + priceMicrosPerHour, 0);

function endText({ node, claim, reason, priceMicrosPerHour, keeps }: EndVerdict): string {
  const who = `${node ?? claim} (${reason}, ${dollars(priceMicrosPerHour)})`;
  return keeps === undefined
    ? `  ends ${who}: Dovetail would have ended it, too`
    : `  ends ${who}: Dovetail would have kept it: ${keeps.message}`;
}

/** The comparison for people, a few lines. */
export function textOf(one: Compared): string {
  const { theirs, ours } = one;
  const time = new Date(one.atMs).toISOString().slice(11, 19);
  const rest = [
    ...(ours.podsOnExistingNodes > 0
      ? [`${counted(ours.podsOnExistingNodes, 'pod')} on nodes that are there`]
      : []),
    ...(ours.podsUnplaced > 0 ? [`${counted(ours.podsUnplaced, 'pod')} without a place`] : []),
  ];
  return [
    `${time}  ${counted(one.pods, 'pod')}: ${signed(one.differenceMicrosPerHour)} with Dovetail`,
    `  Karpenter: ${nodesText(theirs.nodes, theirs.priceMicrosPerHour)}`,
    `  Dovetail:  ${[nodesText(ours.nodes, newNodesPrice(ours.nodes)), ...rest].join(', ')}`,
    ...one.ends.map(endText),
    '',
  ].join('\n');
}

/** The form of a line of `dovetail shadow -o json`, with its version. It only gains fields. */
const shadowSchema = 'dovetail.sh/shadow/v1';

/** The comparison for machines, on one line. Prices are US dollars an hour. */
export function jsonLine(one: Compared): string {
  const priced = <T extends { readonly priceMicrosPerHour: number }>({
    priceMicrosPerHour,
    ...rest
  }: T) => ({ ...rest, price: priceMicrosPerHour / 1e6 });
  const { theirs, ours } = one;
  return `${JSON.stringify({
    schema: shadowSchema,
    time: new Date(one.atMs).toISOString(),
    pods: one.pods,
    karpenter: { nodes: theirs.nodes.map(priced), price: theirs.priceMicrosPerHour / 1e6 },
    dovetail: { ...priced(ours), nodes: ours.nodes.map(priced) },
    ends: one.ends.map(priced),
    difference: one.differenceMicrosPerHour / 1e6,
  })}\n`;
}

/** `3 launches and 1 end`. */
const eventsText = ({ launches, ends }: Left): string =>
  `${String(launches)} ${launches === 1 ? 'launch' : 'launches'} and ${counted(ends, 'end')}`;

const isNone = ({ launches, ends }: Left): boolean => launches === 0 && ends === 0;

/** The end of an outage, with what it left out of the comparison. */
export function backText(lastedMs: number, left: Left): string {
  const seconds = Math.ceil(lastedMs / 1_000);
  const rest = isNone(left) ? '' : `; not compared: ${eventsText(left)} of that time`;
  return `the cluster is watched again after ${counted(seconds, 'second')}${rest}\n`;
}

/** A round of launches for which no pod waited, so that no plan stands beside it. */
export const withoutPodsText = (left: Left): string =>
  `not compared: ${eventsText(left)}, because no pod waited for them: a person or a pool with replicas asked for these nodes, or the pods are gone\n`;

/** The sums in a sentence. */
export function totalsText(totals: Totals): string {
  const { theirsMicrosPerHour: theirs, oursMicrosPerHour: ours, left } = totals;
  const rest = isNone(left) ? '' : `; not compared: ${eventsText(left)}`;
  return `${eventsText(totals)} compared: Karpenter ${dollars(theirs)}, Dovetail ${dollars(ours)}, ${signed(ours - theirs)} with Dovetail${rest}\n`;
}
