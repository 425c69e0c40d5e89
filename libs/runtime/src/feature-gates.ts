import type { Log } from '@dovetail/core-ports';

import type { Setting } from './settings.js';

/** Karpenter's feature gates that are built here, and whether each is on. */
type FeatureGates = {
  /** Unhealthy nodes are ended and replaced. */
  readonly nodeRepair: boolean;
  /** A Spot node may be replaced by a cheaper Spot node. */
  readonly spotToSpot: boolean;
};

/** The gates that were given: those that are built, and the names of others that are to be on. */
export type GivenGates = {
  readonly gates: FeatureGates;
  readonly withoutEffect: readonly string[];
};

/** Karpenter's name of each gate that is built here. */
const built: Readonly<Record<string, keyof FeatureGates>> = {
  NodeRepair: 'nodeRepair',
  SpotToSpotConsolidation: 'spotToSpot',
};
/** Gates of Karpenter up to 1.15 that are not built here. */
const others: readonly string[] = [
  'CapacityBuffer',
  'NodeOverlay',
  'PodDeletionCostManagement',
  'ReservedCapacity',
  'StaticCapacity',
  'TerminateFirstDrift',
  'TerminateFirstRepair',
];

/** Karpenter's default of each gate. */
const defaults: FeatureGates = { nodeRepair: false, spotToSpot: false };

type Gate = { readonly name: string; readonly isOn: boolean };

function gateOf(item: string): Gate {
  const [name = '', state] = item.trim().split('=');
  const isKnown = Object.hasOwn(built, name) || others.includes(name);
  // Karpenter ignores names that it does not know. One that is off asks for nothing.
  const mayBeIgnored = /^[A-Z]\w*$/.test(name) && state === 'false';
  if ((!isKnown && !mayBeIgnored) || (state !== 'true' && state !== 'false'))
    throw new Error(
      `${item.trim()}: give Name=true or Name=false, separated by commas; the names are ${[...Object.keys(built), ...others].sort().join(', ')}`,
    );
  return { name, isOn: state === 'true' };
}

/**
 * Reads `NodeRepair=true,SpotToSpotConsolidation=false`, as Karpenter does, but it throws Error for
 * a gate that is to be on and does not exist. Of a name that is given twice, the last one counts.
 */
export function featureGates(given: string): GivenGates {
  const states = new Map(
    given
      .split(',')
      .map(gateOf)
      .map(({ name, isOn }) => [name, isOn]),
  );
  const gates = Object.entries(built).map(([name, key]) => [
    key,
    states.get(name) ?? defaults[key],
  ]);
  return {
    gates: Object.fromEntries(gates) as FeatureGates,
    withoutEffect: others.filter((name) => states.get(name) === true),
  };
}

/** Warns of gates that were switched on and do nothing here. */
export function warnOfGates(given: GivenGates | undefined, log: Log): void {
  for (const gate of given?.withoutEffect ?? [])
    log.warn(
      'gate-without-effect',
      `FEATURE_GATES switches ${gate} on, which Dovetail does not have yet: nothing changes by it`,
      { gate },
    );
}

/** The setting of feature gates. Undefined: none was given, and each is as its service has it. */
export const featureGatesSetting: Setting<GivenGates | undefined> = {
  env: 'FEATURE_GATES',
  flag: 'feature-gates',
  help: "Karpenter's feature gates as Name=true, separated by commas. NodeRepair=true replaces unhealthy nodes, and ends them; SpotToSpotConsolidation=true lets a cheaper Spot node replace a Spot node; the others have no effect, and a warning says so if one is on.",
  fallback: undefined,
  parse: featureGates,
};
