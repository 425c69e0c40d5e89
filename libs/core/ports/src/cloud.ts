import type { StopSignal } from './clock.js';
import type {
  CapacityType, CloudErrorCode, Ec2Filter, FleetOutcome, FleetRequest, Image, InstanceTypeFacts, LaunchTemplateSpec, PriceQuote, SecurityGroup, Subnet,
} from '@dovetail/core-ec2-model';

export type {
  CloudErrorCode, Ec2Filter, FleetOutcome, FleetRequest, Image, InstanceTypeFacts, LaunchTemplateSpec, PriceQuote, SecurityGroup, Subnet,
} from '@dovetail/core-ec2-model';

export class CloudError extends Error {
  override readonly name = 'CloudError';
  readonly code: CloudErrorCode;
  /** The code that AWS gave, e.g. InsufficientInstanceCapacity. */
  readonly awsCode: string;
  constructor(code: CloudErrorCode, awsCode: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
    this.awsCode = awsCode;
  }
}

export type Instance = {
  readonly id: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly state: 'pending' | 'running' | 'shutting-down' | 'stopping' | 'stopped' | 'terminated';
  readonly capacityType: CapacityType;
  readonly imageId: string;
  readonly launchedMs: number;
  readonly subnetId?: string;
  readonly securityGroupIds: readonly string[];
  readonly privateDnsName?: string;
  readonly tags: Readonly<Record<string, string>>;
};

/** EC2, SSM, Pricing, IAM and EKS, as far as launching needs them. Every call may reject with CloudError. */
export interface Cloud {
  instanceTypes(): Promise<readonly InstanceTypeFacts[]>;
  /** Zones per type. */
  instanceTypeZones(): Promise<ReadonlyMap<string, readonly string[]>>;
  onDemandPrices(): Promise<readonly PriceQuote[]>;
  spotPrices(): Promise<readonly PriceQuote[]>;
  subnets(filters: readonly Ec2Filter[]): Promise<readonly Subnet[]>;
  securityGroups(filters: readonly Ec2Filter[]): Promise<readonly SecurityGroup[]>;
  images(query: { ids?: readonly string[]; owners?: readonly string[]; filters: readonly Ec2Filter[] }): Promise<readonly Image[]>;
  /** Undefined when there is no such parameter. */
  parameter(name: string): Promise<string | undefined>;
  clusterInfo(clusterName: string): Promise<{ readonly version: string; readonly endpoint: string; readonly certificateAuthority: string; readonly serviceCidr: string } | undefined>;
  /** Makes the template unless one of that name exists. */
  ensureLaunchTemplate(spec: LaunchTemplateSpec): Promise<void>;
  launchTemplates(tag: { key: string; value: string }): Promise<readonly { readonly name: string; readonly createdMs: number; readonly tags: Readonly<Record<string, string>> }[]>;
  /** Succeeds when it is already gone. */
  deleteLaunchTemplate(name: string): Promise<void>;
  /** Repeating a request returns its first outcome; a different request under the same token is `token-mismatch`. */
  createFleet(request: FleetRequest): Promise<FleetOutcome>;
  instancesByTag(filters: readonly Ec2Filter[]): Promise<readonly Instance[]>;
  /** Missing ones are left out. Fresh instances may be missing for some seconds. */
  instancesById(ids: readonly string[]): Promise<readonly Instance[]>;
  /** Ids that are already gone count as terminated; answers the ids that EC2 refused, with why. */
  terminate(ids: readonly string[]): Promise<readonly { readonly id: string; readonly awsCode: string; readonly message: string }[]>;
  tagInstances(ids: readonly string[], tags: Readonly<Record<string, string>>): Promise<void>;
  /** Makes profile and membership of the role as needed; answers the profile's name. */
  ensureInstanceProfile(profile: { name: string; role: string; path: string; tags: Readonly<Record<string, string>> }): Promise<string>;
  instanceProfileExists(name: string): Promise<boolean>;
  /** Succeeds when it is already gone. */
  deleteInstanceProfile(name: string): Promise<void>;
  /** Account and region that these credentials belong to, to refuse what is not ours. */
  identity(): Promise<{ readonly accountId: string; readonly region: string }>;
}

export type QueueMessage = { readonly body: string; readonly receipt: string; readonly sentMs: number; readonly receives: number };

/** The SQS queue that interruption notices arrive in. */
export interface InterruptionQueue {
  /** Long-polls; at most 10. */
  receive(stop: StopSignal): Promise<readonly QueueMessage[]>;
  delete(receipt: string): Promise<void>;
}
