import type {
  CapacityType,
  CloudErrorCode,
  Ec2Filter,
  FleetOutcome,
  FleetRequest,
  Image,
  ImpairedInstance,
  InstanceTypeFacts,
  LaunchTemplateSpec,
  PriceQuote,
  SecurityGroup,
  Subnet,
} from '@dovetail/core-ec2-model';

import type { StopSignal } from './clock.js';

export type {
  CloudErrorCode,
  Ec2Filter,
  FleetOutcome,
  FleetRequest,
  Image,
  InstanceTypeFacts,
  LaunchTemplateSpec,
  PriceQuote,
} from '@dovetail/core-ec2-model';

/** A call of the cloud failed. */
export class CloudError extends Error {
  override readonly name = 'CloudError';
  readonly code: CloudErrorCode;
  /** AWS' own code, such as InsufficientInstanceCapacity. */
  readonly awsCode: string;
  constructor(
    code: CloudErrorCode,
    awsCode: string,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
    this.code = code;
    this.awsCode = awsCode;
  }
}

/** An EC2 instance as DescribeInstances shows it. */
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
  /** The name of the instance profile that it runs under. */
  readonly profile?: string;
  readonly tags: Readonly<Record<string, string>>;
};

/**
 * The abilities of the region's instance types. Every call of the cloud's ports may reject with
 * CloudError.
 */
export interface InstanceCatalog {
  instanceTypes(): Promise<readonly InstanceTypeFacts[]>;
  /** The zones that offer each type. */
  instanceTypeZones(): Promise<ReadonlyMap<string, readonly string[]>>;
}

/** The current prices of instance types in the region. */
export interface Prices {
  onDemandPrices(): Promise<readonly PriceQuote[]>;
  spotPrices(): Promise<readonly PriceQuote[]>;
}

/** The subnets and security groups that instances may be put in. */
export interface NetworkDiscovery {
  subnets(filters: readonly Ec2Filter[]): Promise<readonly Subnet[]>;
  securityGroups(filters: readonly Ec2Filter[]): Promise<readonly SecurityGroup[]>;
}

/** The machine images that instances may boot. */
export interface ImageDiscovery {
  images(query: {
    ids?: readonly string[];
    owners?: readonly string[];
    filters: readonly Ec2Filter[];
  }): Promise<readonly Image[]>;
  /** The value of an SSM parameter, or undefined when there is none of that name. */
  parameter(name: string): Promise<string | undefined>;
}

/** The facts of an EKS cluster that nodes need to join it. */
export type EksCluster = {
  readonly version: string;
  readonly endpoint: string;
  /** Base64, as EKS answers it. */
  readonly certificateAuthority: string;
  readonly serviceCidr: string;
};

/** The EKS clusters of the account and region. */
export interface EksClusters {
  /** Undefined when EKS has no cluster of that name: it runs elsewhere. */
  clusterInfo(clusterName: string): Promise<EksCluster | undefined>;
}

/** A launch template as it is found, without its content. */
export type LaunchTemplate = {
  readonly name: string;
  readonly createdMs: number;
  readonly tags: Readonly<Record<string, string>>;
};

/** Launch templates, each named by its content. */
export interface LaunchTemplates {
  /** Makes the template unless one of that name exists. Answers whether this call made it. */
  ensureLaunchTemplate(spec: LaunchTemplateSpec): Promise<boolean>;
  launchTemplates(tag: { key: string; value: string }): Promise<readonly LaunchTemplate[]>;
  /** Succeeds when it is already gone. */
  deleteLaunchTemplate(name: string): Promise<void>;
}

/** Buys instances. */
export interface Fleets {
  /**
   * Buys what the request asks for, as far as there is capacity. Repeating a request returns its
   * first outcome; a different request under the same token is `token-mismatch`.
   */
  createFleet(request: FleetRequest): Promise<FleetOutcome>;
}

/** Reads instances. EC2 is eventually consistent: a fresh instance may be missing for seconds. */
export interface Instances {
  instancesByTag(filters: readonly Ec2Filter[]): Promise<readonly Instance[]>;
  /** Answers those that exist and leaves out the rest. */
  instancesById(ids: readonly string[]): Promise<readonly Instance[]>;
}

/** Reads EC2's own status checks and scheduled events. */
export interface InstanceStatuses {
  /**
   * Every running instance of the region that fails a check or has an event scheduled. Events that
   * are over or cancelled are left out, and so are checks of volumes.
   */
  impairedInstances(): Promise<readonly ImpairedInstance[]>;
}

/** Writes the tags of instances. */
export interface InstanceTags {
  tagInstances(ids: readonly string[], tags: Readonly<Record<string, string>>): Promise<void>;
}

/** An instance that EC2 did not terminate, and its reason. */
export type RefusedTermination = {
  readonly id: string;
  readonly awsCode: string;
  readonly message: string;
};

/** Ends instances. */
export interface Terminations {
  /** An id that is already gone counts as terminated. Answers the ids that EC2 refused. */
  terminate(ids: readonly string[]): Promise<readonly RefusedTermination[]>;
}

/** The IAM instance profiles that nodes run under. */
export interface InstanceProfiles {
  /** Makes the profile and its membership of the role as needed. Answers the profile's name. */
  ensureInstanceProfile(profile: {
    name: string;
    role: string;
    path: string;
    tags: Readonly<Record<string, string>>;
  }): Promise<string>;
  instanceProfileExists(name: string): Promise<boolean>;
  /** The names of the profiles under an IAM path, which begins and ends with `/`. */
  instanceProfiles(pathPrefix: string): Promise<readonly string[]>;
  /** Succeeds when it is already gone. */
  deleteInstanceProfile(name: string): Promise<void>;
}

/** The account and region of the credentials, so that messages about others can be refused. */
export interface Account {
  identity(): Promise<{ readonly accountId: string; readonly region: string }>;
}

/**
 * All of the cloud's ports in one object. Adapters, twins and tests provide it; a service asks only
 * for the ports that it uses.
 */
export type Cloud = InstanceCatalog &
  Prices &
  NetworkDiscovery &
  ImageDiscovery &
  EksClusters &
  LaunchTemplates &
  Fleets &
  Instances &
  InstanceStatuses &
  InstanceTags &
  Terminations &
  InstanceProfiles &
  Account;

/** A message of an SQS queue. `receipt` deletes it. */
export type QueueMessage = {
  readonly body: string;
  readonly receipt: string;
  readonly sentMs: number;
  readonly receives: number;
};

/** The SQS queue that interruption notices arrive in. */
export interface InterruptionQueue {
  /** Long-polls for at most 10 messages. A received message is hidden from others for a time. */
  receive(stop: StopSignal): Promise<readonly QueueMessage[]>;
  /**
   * Removes messages for good, any number. Answers the receipts of those that remain: the queue
   * gives them again.
   */
  delete(receipts: readonly string[]): Promise<readonly string[]>;
}
