import { annotations, type NodeClaim } from '@dovetail/core-api';

import { type DisruptionNote, note } from '../facts/refusal.js';
import type { Command } from './command.js';

/** On a NodeClaim: the commands that moved pods to its node lately, as JSON. */
export const movedHereAnnotation = 'dovetail.sh/moved-here';

/**
 * The moves to one node that still count: when the last of them began, the saving of their commands
 * an hour, and the cost of their disruptions.
 */
export type MovedHere = {
  readonly atMs: number;
  readonly savedMicrosPerHour: number;
  readonly disruptionCost: number;
};

/**
 * Clocks of two leaders differ by less, in milliseconds. A later time is another author's, or that
 * of a wrong clock.
 */
const clockSkewMs = 60_000;

/** How long moved pods are left alone. */
export type Restraint = { readonly movePauseMs: number; readonly nowMs: number };

/** Reads the annotation. Undefined: no move is known, or the text is not ours. */
export function parseMovedHere(text: string | undefined): MovedHere | undefined {
  try {
    const { at, savedMicrosPerHour, disruptionCost } = JSON.parse(text ?? '{}') as Readonly<
      Record<string, unknown>
    >;
    const atMs = typeof at === 'string' ? Date.parse(at) : Number.NaN;
    if (typeof savedMicrosPerHour !== 'number' || typeof disruptionCost !== 'number')
      return undefined;
    return Number.isNaN(atMs) || disruptionCost <= 0
      ? undefined
      : { atMs, savedMicrosPerHour, disruptionCost };
  } catch {
    return undefined;
  }
}

/** Writes the annotation. */
export const renderMovedHere = ({ atMs, savedMicrosPerHour, disruptionCost }: MovedHere): string =>
  JSON.stringify({ at: new Date(atMs).toISOString(), savedMicrosPerHour, disruptionCost });

/** The UIDs of the running nodes that a command moves pods to. */
export const destinationsOf = ({ moves }: Pick<Command, 'moves'>): ReadonlySet<string> =>
  new Set(moves.flatMap(({ to }) => (to.kind === 'node' ? [to.nodeUid] : [])));

/** The moves to a node once this command has begun: earlier ones that still count, and its own. */
export function movedHereBy(
  command: Savings,
  claim: Pick<NodeClaim, 'annotations'>,
  restraint: Restraint,
): MovedHere {
  const earlier = movesThatCount(claim, restraint);
  return {
    atMs: restraint.nowMs,
    savedMicrosPerHour: savedBy(command) + (earlier?.savedMicrosPerHour ?? 0),
    disruptionCost: command.disruptionCost + (earlier?.disruptionCost ?? 0),
  };
}

/**
 * Why a command would move people's pods back and forth. Undefined: it does not. `claims` are those
 * of the nodes that it gives up.
 *
 * A node that a command bought is not given up within the pause. A node that received pods from one
 * is given up only if that pays for both moves: the saving per disruption, with both disruptions
 * counted, is not below that of the first.
 */
export function restraintOn(
  command: Savings,
  claims: readonly Pick<NodeClaim, 'name' | 'annotations' | 'createdMs'>[],
  restraint: Restraint,
): DisruptionNote | undefined {
  const bought = claims.find((claim) => wasBoughtLately(claim, restraint));
  if (bought !== undefined) return boughtLately(bought, restraint);
  const moves = claims.flatMap((claim) => movesThatCount(claim, restraint) ?? []);
  if (moves.length === 0) return undefined;
  const saved = moves.reduce((sum, each) => sum + each.savedMicrosPerHour, 0);
  const cost = moves.reduce((sum, each) => sum + each.disruptionCost, 0);
  const score = savedBy(command) / (command.disruptionCost + cost);
  if (score >= saved / cost) return undefined;
  const values = { score: score.toFixed(0), scoreMin: (saved / cost).toFixed(0) };
  return note(
    'moved-recently',
    `its pods were moved here ${secondsText(restraint.nowMs - latestOf(moves))} ago, and moving them again would save too little for both`,
    values,
  );
}

/** The parts of a command that say what it is worth. */
type Savings = Pick<
  Command,
  'priceBeforeMicrosPerHour' | 'priceAfterMicrosPerHour' | 'disruptionCost'
>;

const savedBy = ({ priceBeforeMicrosPerHour, priceAfterMicrosPerHour }: Savings): number =>
  priceBeforeMicrosPerHour - priceAfterMicrosPerHour;

/** Whether a command bought this claim: no other has a price cap of its own. */
export const isBoughtByCommand = ({ annotations: held }: Pick<NodeClaim, 'annotations'>): boolean =>
  held[annotations.maxPricePerHour] !== undefined;

const wasBoughtLately = (
  claim: Pick<NodeClaim, 'annotations' | 'createdMs'>,
  { movePauseMs, nowMs }: Restraint,
): boolean => isBoughtByCommand(claim) && nowMs - claim.createdMs < movePauseMs;

function boughtLately(
  { name, createdMs }: Pick<NodeClaim, 'name' | 'createdMs'>,
  { nowMs }: Restraint,
): DisruptionNote {
  const age = secondsText(nowMs - createdMs);
  return note('moved-recently', `it was bought ${age} ago to replace other nodes`, { claim: name });
}

function movesThatCount(
  { annotations: held }: Pick<NodeClaim, 'annotations'>,
  { movePauseMs, nowMs }: Restraint,
): MovedHere | undefined {
  const moved = parseMovedHere(held[movedHereAnnotation]);
  if (moved === undefined || moved.atMs > nowMs + clockSkewMs) return undefined;
  return nowMs - moved.atMs < movePauseMs ? moved : undefined;
}

/** When the first pause of these claims ends. Infinity: none has one. */
export function pauseEndsMs(
  claims: Iterable<Pick<NodeClaim, 'annotations' | 'createdMs'>>,
  restraint: Restraint,
): number {
  let firstMs = Infinity;
  for (const claim of claims) {
    const boughtMs = wasBoughtLately(claim, restraint) ? claim.createdMs : Infinity;
    const movedMs = movesThatCount(claim, restraint)?.atMs ?? Infinity;
    firstMs = Math.min(firstMs, Math.min(boughtMs, movedMs) + restraint.movePauseMs);
  }
  return firstMs;
}

const latestOf = (moves: readonly MovedHere[]): number =>
  Math.max(...moves.map(({ atMs }) => atMs));

const secondsText = (ms: number): string => `${String(Math.max(0, Math.floor(ms / 1000)))} s`;
