import {
  AwsFault,
  invalidValue,
  missingParameter,
  NotServedFault,
} from '../foundation/aws-fault.js';
import type { TemplateReference } from './launch-templates.js';

/** EC2's allocation strategies for Spot. */
export type SpotStrategy =
  | 'lowest-price'
  | 'price-capacity-optimized'
  | 'capacity-optimized'
  | 'capacity-optimized-prioritized';

/** EC2's allocation strategies for on-demand instances. */
export type OnDemandStrategy = 'lowest-price' | 'prioritized';

/** One choice of a fleet request: fields that replace those of the launch template. */
export type FleetOverride = {
  readonly instanceType?: string;
  readonly subnetId?: string;
  readonly zone?: string;
  readonly imageId?: string;
  /** Lower comes first; overrides without one come last. */
  readonly priority?: number;
  /** Most to pay for Spot, micro-dollars an hour; the on-demand price when left out. */
  readonly maxPriceMicros?: number;
};

/** A CreateFleet request of type `instant`. */
export type FleetInput = {
  readonly type: string;
  readonly clientToken?: string;
  readonly dryRun?: boolean;
  readonly capacityType: string;
  readonly capacity: number;
  readonly spotStrategy: SpotStrategy;
  readonly onDemandStrategy: OnDemandStrategy;
  readonly configs: readonly {
    readonly template: TemplateReference;
    readonly overrides: readonly FleetOverride[];
  }[];
  readonly instanceTags: Readonly<Record<string, string>>;
  readonly fleetTags: Readonly<Record<string, string>>;
  readonly volumeTags: Readonly<Record<string, string>>;
  readonly context?: string;
};

const spotStrategies: readonly string[] = [
  'lowest-price',
  'price-capacity-optimized',
  'capacity-optimized',
  'capacity-optimized-prioritized',
];
const onDemandStrategies: readonly string[] = ['lowest-price', 'prioritized'];

/**
 * Throws AwsFault for more than fifty tags, for AWS' own keys, and for keys or values that are too
 * long.
 */
export function checkTags(tags: Readonly<Record<string, string>>): void {
  const reserved = Object.keys(tags).find((key) => key.toLowerCase().startsWith('aws:'));
  if (reserved !== undefined)
    throw invalidValue(
      'tagKey',
      reserved,
      "Tag keys starting with 'aws:' are reserved for internal use",
    );
  if (Object.keys(tags).length > 50)
    throw new AwsFault('TagLimitExceeded', 'The maximum number of tags on a resource is 50');
  for (const [key, value] of Object.entries(tags)) {
    if (key.length === 0 || key.length > 127)
      throw invalidValue(
        'tagKey',
        key,
        'Tag key exceeds the maximum length of 127 characters, or is empty',
      );
    if (value.length > 256)
      throw invalidValue(
        'tagValue',
        value,
        'Tag value exceeds the maximum length of 255 characters',
      );
  }
}

function checkCapacity(input: FleetInput): void {
  if (input.type !== 'instant')
    throw new NotServedFault(
      'UnsupportedOperation',
      `Fleet type ${input.type}: only instant fleets are served here; give Type=instant`,
    );
  if (input.capacityType !== 'on-demand' && input.capacityType !== 'spot') {
    throw invalidValue(
      'TargetCapacitySpecification.DefaultTargetCapacityType',
      input.capacityType,
      'Use on-demand or spot.',
    );
  }
  if (!Number.isInteger(input.capacity) || input.capacity < 1 || input.capacity > 10_000) {
    throw invalidValue(
      'TargetCapacitySpecification.TotalTargetCapacity',
      String(input.capacity),
      'Use 1 to 10000.',
    );
  }
  if (!spotStrategies.includes(input.spotStrategy))
    throw invalidValue(
      'SpotOptions.AllocationStrategy',
      input.spotStrategy,
      `Use one of ${spotStrategies.join(', ')}.`,
    );
  if (!onDemandStrategies.includes(input.onDemandStrategy))
    throw invalidValue(
      'OnDemandOptions.AllocationStrategy',
      input.onDemandStrategy,
      `Use one of ${onDemandStrategies.join(', ')}.`,
    );
}

/** Throws the faults that EC2 raises before it looks at any pool. */
export function checkFleetInput(input: FleetInput, overridesMax: number): void {
  checkCapacity(input);
  if (input.clientToken !== undefined && !/^[\x21-\x7e]{1,64}$/.test(input.clientToken)) {
    throw invalidValue(
      'ClientToken',
      input.clientToken,
      'A client token is 1 to 64 ASCII characters.',
    );
  }
  if (input.configs.length === 0) throw missingParameter('LaunchTemplateConfigs');
  if (input.configs.length > 50)
    throw invalidValue(
      'LaunchTemplateConfigs',
      String(input.configs.length),
      'At most 50 are allowed.',
    );
  const overrides = input.configs.reduce((sum, config) => sum + config.overrides.length, 0);
  if (overrides > overridesMax)
    throw new AwsFault(
      'InvalidParameterValue',
      `The number of launch template overrides ${overrides} exceeds the limit of ${overridesMax}`,
    );
  for (const tags of [input.instanceTags, input.fleetTags, input.volumeTags]) checkTags(tags);
}
