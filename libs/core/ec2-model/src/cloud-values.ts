/** The kinds of a CloudError. The remedy follows from the code alone. */
export type CloudErrorCode =
  | 'throttled'
  | 'capacity-exhausted'
  | 'denied'
  | 'invalid-request'
  | 'not-found'
  | 'token-mismatch'
  | 'quota-exceeded'
  | 'launch-template-missing'
  | 'unavailable';

/** A subnet as EC2 describes it. */
export type Subnet = {
  readonly id: string;
  readonly zone: string;
  readonly zoneId: string;
  readonly freeAddresses: number;
  readonly tags: Readonly<Record<string, string>>;
};
/** A security group as EC2 describes it. */
export type SecurityGroup = {
  readonly id: string;
  readonly name: string;
  readonly tags: Readonly<Record<string, string>>;
};
/** A machine image as EC2 describes it. */
export type Image = {
  readonly id: string;
  readonly name: string;
  readonly arch: 'amd64' | 'arm64';
  readonly createdMs: number;
  readonly deprecated: boolean;
  readonly tags: Readonly<Record<string, string>>;
};

/**
 * A filter of an EC2 call: one of its values must match, and all filters hold together. In `tag:k`,
 * `*` matches any value.
 */
export type Ec2Filter = { readonly name: string; readonly values: readonly string[] };

/** A complete CreateFleet request of type `instant`. Equal values make equal bytes on the wire. */
export type FleetRequest = {
  /** Makes the request idempotent. EC2 takes at most 64 ASCII characters. */
  readonly clientToken: string;
  readonly capacityType: 'on-demand' | 'spot';
  readonly count: number;
  /** Launch templates with the overrides that may be launched through each. */
  readonly configs: readonly {
    readonly launchTemplateName: string;
    readonly overrides: readonly {
      readonly instanceType: string;
      readonly subnetId: string;
      readonly zone: string;
    }[];
  }[];
  /** `price-capacity-optimized` is for Spot alone. */
  readonly allocation: 'lowest-price' | 'price-capacity-optimized';
  readonly tags: Readonly<Record<string, string>>;
  readonly context?: string;
};

/** The answer of CreateFleet. A partial result has both instances and errors. */
export type FleetOutcome = {
  readonly fleetId: string;
  readonly instances: readonly {
    readonly id: string;
    readonly instanceType: string;
    readonly zone: string;
    readonly capacityType: 'on-demand' | 'spot';
  }[];
  /** AWS' code for each override that failed. */
  readonly errors: readonly {
    readonly awsCode: string;
    readonly message: string;
    readonly instanceType?: string;
    readonly zone?: string;
    readonly subnetId?: string;
  }[];
};

/**
 * A launch template. Invariant: its name is a hash of its content, so equal content is one
 * template.
 */
export type LaunchTemplateSpec = {
  readonly name: string;
  readonly imageId: string;
  readonly userDataBase64: string;
  readonly instanceProfileName?: string;
  readonly securityGroupIds: readonly string[];
  readonly associatePublicIpAddress?: boolean;
  /** EFA interfaces, one for each network card. Absent: one ordinary interface. */
  readonly efaInterfaces?: number;
  /** `ebs` in EC2's own names (VolumeSize in GiB, VolumeType, Iops, ...). */
  readonly blockDevices: readonly {
    readonly deviceName: string;
    readonly ebs?: Readonly<Record<string, string | number | boolean>>;
  }[];
  /** In EC2's own names (HttpTokens, ...). */
  readonly metadataOptions: Readonly<Record<string, string | number>>;
  readonly detailedMonitoring: boolean;
  readonly tags: Readonly<Record<string, string>>;
  /** The spot requests of its instances get the tags too. Absent: it is not for spot. */
  readonly forSpot?: true;
  /** Absent: its instances share their hosts with other accounts. */
  readonly tenancy?: 'dedicated';
};
