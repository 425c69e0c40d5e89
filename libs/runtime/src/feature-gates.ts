import type { Setting } from './settings.js';

/** Karpenter's feature gates that are built here, and whether each is on. */
export type FeatureGates = {
  /** Unhealthy nodes are ended and replaced. */
  readonly nodeRepair: boolean;
  /** A Spot node may be replaced by a cheaper Spot node. */
  readonly spotToSpot: boolean;
};

/** Karpenter's name of each gate that is built here. */
const built: Readonly<Record<string, keyof FeatureGates>> = {
  NodeRepair: 'nodeRepair',
  SpotToSpotConsolidation: 'spotToSpot',
};
/** Gates of Karpenter 1.14 that are not built here. They are accepted, so lists can be kept. */
const others: readonly string[] = [
  'CapacityBuffer',
  'NodeOverlay',
  'ReservedCapacity',
  'StaticCapacity',
];

/** Karpenter's default of each gate. */
const defaults: FeatureGates = { nodeRepair: false, spotToSpot: false };

/**
 * Reads `NodeRepair=true,SpotToSpotConsolidation=false`, as Karpenter does, but it throws Error for
 * a gate that does not exist.
 */
export function featureGates(given: string): FeatureGates {
  const gates = given.split(',').map((item): Partial<FeatureGates> => {
    const [name = '', state] = item.trim().split('=');
    const isKnown = Object.hasOwn(built, name) || others.includes(name);
    if (!isKnown || (state !== 'true' && state !== 'false'))
      throw new Error(
        `${item.trim()}: give Name=true or Name=false, separated by commas; the names are ${[...Object.keys(built), ...others].sort().join(', ')}`,
      );
    const key = built[name];
    return key === undefined ? {} : { [key]: state === 'true' };
  });
  return gates.reduce<FeatureGates>((all, one) => ({ ...all, ...one }), defaults);
}

/** The setting of feature gates. Undefined: none was given, and each service has its defaults. */
export const featureGatesSetting: Setting<FeatureGates | undefined> = {
  env: 'FEATURE_GATES',
  flag: 'feature-gates',
  help: "Karpenter's feature gates as Name=true, separated by commas. NodeRepair=true ends and replaces unhealthy nodes; SpotToSpotConsolidation=true lets a cheaper Spot node replace a Spot node; the others have no effect.",
  fallback: undefined,
  parse: featureGates,
};
