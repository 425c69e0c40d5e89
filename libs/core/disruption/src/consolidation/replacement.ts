import { labels, type PoolIdentity, poolKey } from '@dovetail/core-api';
import { lookUp } from '@dovetail/core-invariant';
import { compareText, type RequirementSpec } from '@dovetail/core-kube-model';
import type { BinOption, NewNode } from '@dovetail/core-scheduling';

import { type DisruptionNote, note } from '../facts/refusal.js';
import type { Candidate } from './candidates.js';
import { commandOf, type NodeIn } from './command.js';
import { MinValues, type MissedMinimum, type ValuesOfType } from './min-values.js';
import {
  costOfAll,
  type IsUnsettled,
  type Judged,
  type MoveRules,
  movesOf,
  needsNewNodes,
  nodeOutOf,
  removalOf,
  type WhatIf,
  worthItsMoves,
} from './removal.js';

/** The rules that a replacement must satisfy beside being cheaper. */
export type ReplacementRules = MoveRules & {
  /** Karpenter's feature gate SpotToSpotConsolidation. */
  readonly spotToSpot: boolean;
  /** A smaller saving is left, in micro-dollars an hour: it is not worth the disruption. */
  readonly savingMin: number;
  /** The same as a share of the price before. */
  readonly savingShareMin: number;
  /** Whether no node of this type is to be bought in this pool now. Absent: any may be. */
  readonly isLeftOut?: (pool: PoolIdentity, instanceType: string) => boolean;
  /**
   * The values of labels that types imply, by which `minValues` is counted. Absent: only those of
   * types, zones and capacity types are counted.
   */
  readonly valuesOfType?: ValuesOfType;
  /** The most nodes that a command may buy. Absent: one, as Karpenter does. */
  readonly nodesInMax?: number;
};

/**
 * The least saving of a replacement unless settings differ: a tenth of a cent an hour, and 2 % of
 * the price before. It trades money for pods that move, and keeps small changes of Spot prices from
 * moving them back and forth. Karpenter takes any saving.
 */
export const defaultSavingMin = { microsPerHour: 1_000, share: 0.02 } as const;

/**
 * Types that must be cheaper before one Spot node replaces another, so that the new one is not the
 * next to be interrupted (Karpenter's MinInstanceTypesForSpotToSpotConsolidation).
 */
const spotTypesMin = 15;

type Kept =
  | { readonly kind: 'kept'; readonly options: readonly BinOption[] }
  | { readonly kind: 'none'; readonly note: DisruptionNote };

/**
 * Judges whether nodes can go together, with cheaper nodes for them (Karpenter's single- and
 * multi-node consolidation, which buy one at most). Only types stay whose dearest option fits in
 * the price of the nodes that go: a launch may take any of a type's options.
 */
export function judgeReplacement(
  candidates: readonly Candidate[],
  { plan, position }: WhatIf,
  unsettled: IsUnsettled,
  rules: ReplacementRules,
): Judged {
  const found = movesOf(candidates, plan, unsettled);
  if (found.kind === 'stays') return found;
  const { newNodes } = plan;
  if (newNodes.length === 0)
    return worthItsMoves(removalOf(candidates, found.moves, position), candidates, rules);
  if (newNodes.length > (rules.nodesInMax ?? 1)) return needsNewNodes(newNodes.length);
  const nodesIn: NodeIn[] = [];
  for (const bin of newNodes) {
    const isOnly = newNodes.length === 1;
    const kept = optionsFor(candidates, { bin, price: plan.priceMicrosPerHour, isOnly }, rules);
    if (kept.kind === 'none') return { kind: 'stays', note: kept.note };
    nodesIn.push(nodeInOf(bin, kept.options));
  }
  const command = commandOf({
    cause: 'underutilized',
    nodesOut: candidates.map(nodeOutOf),
    nodesIn,
    moves: found.moves,
    disruptionCost: costOfAll(candidates),
    position,
  });
  return worthItsMoves(command, candidates, rules);
}

function nodeInOf(bin: NewNode, options: readonly BinOption[]): NodeIn {
  const prices = options.map(({ priceMicrosPerHour }) => priceMicrosPerHour);
  return {
    bin: narrowed(bin, options),
    priceMicrosPerHour: Math.min(...prices),
    priceCapMicrosPerHour: Math.max(...prices),
  };
}

/**
 * The options that a new node may be launched as, the cheapest first. Of several new nodes, each
 * has its part of the price of the nodes that go, so that all together stay below it.
 */
function optionsFor(
  candidates: readonly Candidate[],
  {
    bin,
    price,
    isOnly,
  }: { readonly bin: NewNode; readonly price: number; readonly isOnly: boolean },
  rules: ReplacementRules,
): Kept {
  const before = candidates.reduce((sum, { priceMicrosPerHour }) => sum + priceMicrosPerHour, 0);
  const offered = offeredIn(bin, rules);
  if (offered.length === 0)
    return none(
      `Can't replace: nodes of each type that fits did not become usable in ${poolKey(bin.pool)} lately`,
      before,
    );
  const isAllSpot = candidates.every(({ view }) => labelOf(view, labels.capacityType) === 'spot');
  const offersSpot = offered.some(({ capacityType }) => capacityType === 'spot');
  if (isAllSpot && offersSpot && !rules.spotToSpot)
    return none(
      "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node",
      before,
    );
  const saving = Math.max(rules.savingMin, rules.savingShareMin * before);
  const cheapest = bin.options[0]?.priceMicrosPerHour ?? 0;
  const part = price > 0 ? cheapest / price : 1;
  const below = Math.min(
    (before - saving) * part,
    isOnly ? sameTypePriceOf(candidates, offered) : Infinity,
  );
  const ofOneKind = isAllSpot && offersSpot ? offered.filter(isSpot) : offered;
  const cheaper = cheaperTypes(ofOneKind, below);
  // Launched as either, the on-demand one might be the dearer: Karpenter pins it to Spot.
  const pinned = cheaper.some(isSpot) ? cheaper.filter(isSpot) : cheaper;
  const isSpotToSpot = isAllSpot && offersSpot;
  const minValues = new MinValues(bin, rules.valuesOfType);
  const lack = lackOf(pinned, minValues, { isSpotToSpot, candidates });
  if (lack !== undefined) return none(lack, before);
  return { kind: 'kept', options: isSpotToSpot ? cheapestTypes(pinned, minValues) : pinned };
}

/** The options of a bin, without those of types that are not to be bought now. */
const offeredIn = ({ options, pool }: NewNode, { isLeftOut }: ReplacementRules) =>
  options.filter(({ instanceType }) => isLeftOut?.(pool, instanceType) !== true);

/**
 * The options of as many of the cheapest types as must be cheaper, or as `minValues` asks for. One
 * of them is launched, and can never be the next with so many cheaper ones: else EC2, which takes
 * the deepest pool, would sell a dear one, and the next command would move its pods on. Karpenter
 * does so where one node is replaced, and leaves several to the next command.
 */
function cheapestTypes(options: readonly BinOption[], minValues: MinValues): readonly BinOption[] {
  const dearest = new Map<string, number>();
  for (const { instanceType, priceMicrosPerHour } of options)
    dearest.set(instanceType, Math.max(dearest.get(instanceType) ?? 0, priceMicrosPerHour));
  const inOrder = [...dearest].sort(([a, one], [b, other]) => one - other || compareText(a, b));
  for (let count = spotTypesMin; ; count += 1) {
    const types = new Map(inOrder.slice(0, count));
    const kept = options.filter(({ instanceType }) => types.has(instanceType));
    if (count >= inOrder.length || minValues.missedBy(kept) === undefined) return kept;
  }
}

const isSpot = ({ capacityType }: BinOption): boolean => capacityType === 'spot';

const labelOf = ({ claim, node }: Candidate['view'], key: string): string | undefined =>
  lookUp(node.labels, key) ?? lookUp(claim.labels, key);

/**
 * If the replacement may be of a type that also goes, it must be cheaper than the cheapest such
 * node: else it would be enough to keep that one (Karpenter's filterOutSameInstanceType). A single
 * node is compared by its price alone. So are several new nodes: together they hold what the old
 * ones hold apart.
 */
function sameTypePriceOf(candidates: readonly Candidate[], options: readonly BinOption[]): number {
  if (candidates.length < 2) return Infinity;
  const offered = new Set(options.map(({ instanceType }) => instanceType));
  const same = candidates.filter(({ view }) =>
    offered.has(labelOf(view, labels.instanceType) ?? ''),
  );
  return Math.min(...same.map(({ priceMicrosPerHour }) => priceMicrosPerHour));
}

function cheaperTypes(options: readonly BinOption[], below: number): readonly BinOption[] {
  const dear = new Set(
    options
      .filter(({ priceMicrosPerHour }) => priceMicrosPerHour >= below)
      .map(({ instanceType, capacityType }) => `${instanceType} ${capacityType}`),
  );
  return options.filter(
    ({ instanceType, capacityType }) => !dear.has(`${instanceType} ${capacityType}`),
  );
}

/** Why the options that are left are too few; undefined when they suffice. */
function lackOf(
  options: readonly BinOption[],
  minValues: MinValues,
  of: { readonly isSpotToSpot: boolean; readonly candidates: readonly Candidate[] },
): string | undefined {
  const types = new Set(options.map(({ instanceType }) => instanceType)).size;
  if (types === 0)
    return of.isSpotToSpot
      ? "Can't replace spot node with a cheaper spot node"
      : "Can't replace with a cheaper node";
  const missed = minValues.missedBy(options);
  if (missed !== undefined) return textOfMissed(missed);
  if (of.isSpotToSpot && of.candidates.length === 1 && types < spotTypesMin)
    return `SpotToSpotConsolidation requires ${String(spotTypesMin)} cheaper instance type options than the current candidate to consolidate, got ${String(types)}`;
  return undefined;
}

function textOfMissed({ key, wanted, got }: MissedMinimum): string {
  const what =
    key === labels.instanceType ? 'cheaper types' : `values of ${key} among cheaper types`;
  return `minValues needs ${String(wanted)} ${what}, got ${String(got)}`;
}

const none = (message: string, before: number): Kept => ({
  kind: 'none',
  note: note('not-worthwhile', message, { priceBeforeMicrosPerHour: before }),
});

/** The bin with these options alone, in its requirements, too. */
function narrowed(bin: NewNode, options: readonly BinOption[]): NewNode {
  const values: Readonly<Record<string, ReadonlySet<string>>> = {
    [labels.instanceType]: new Set(options.map(({ instanceType }) => instanceType)),
    [labels.zone]: new Set(options.map(({ zone }) => zone)),
    [labels.capacityType]: new Set<string>(options.map(({ capacityType }) => capacityType)),
  };
  const requirements = bin.requirements.map((each): RequirementSpec => {
    const left = lookUp(values, each.key);
    if (left === undefined || each.operator !== 'In') return each;
    return { ...each, values: each.values.filter((value) => left.has(value)) };
  });
  return { ...bin, options, requirements };
}
