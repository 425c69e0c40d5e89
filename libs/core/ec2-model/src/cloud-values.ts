/** What a CloudError means for the caller: the remedy follows from the code alone (see remedyOf in the launcher's docs). */
export type CloudErrorCode =
  | 'throttled' | 'capacity-exhausted' | 'denied' | 'invalid-request' | 'not-found' | 'token-mismatch' | 'quota-exceeded'
  | 'launch-template-missing' | 'unavailable';

export type Subnet = { readonly id: string; readonly zone: string; readonly zoneId: string; readonly freeAddresses: number; readonly tags: Readonly<Record<string, string>> };
export type SecurityGroup = { readonly id: string; readonly name: string; readonly tags: Readonly<Record<string, string>> };
export type Image = { readonly id: string; readonly name: string; readonly arch: 'amd64' | 'arm64'; readonly createdMs: number; readonly deprecated: boolean; readonly tags: Readonly<Record<string, string>> };

/** EC2 filters: each name with its alternatives, all names together. `tag:k` with `*` means any value. */
export type Ec2Filter = { readonly name: string; readonly values: readonly string[] };

/** A CreateFleet request of type `instant`, complete: equal values make equal bytes on the wire. */
export type FleetRequest = {
  /** At most 64 ASCII characters. */
  readonly clientToken: string;
  readonly capacityType: 'on-demand' | 'spot';
  readonly count: number;
  /** Launch templates with the overrides that may be launched through each. */
  readonly configs: readonly {
    readonly launchTemplateName: string;
    readonly overrides: readonly { readonly instanceType: string; readonly subnetId: string; readonly zone: string; readonly priority?: number }[];
  }[];
  readonly allocation: 'lowest-price' | 'price-capacity-optimized' | 'prioritized' | 'capacity-optimized-prioritized';
  readonly tags: Readonly<Record<string, string>>;
  readonly context?: string;
};

export type FleetOutcome = {
  readonly fleetId: string;
  readonly instances: readonly { readonly id: string; readonly instanceType: string; readonly zone: string; readonly capacityType: 'on-demand' | 'spot' }[];
  /** Per override that failed: AWS' code and what it was about. Partial results have both instances and errors. */
  readonly errors: readonly { readonly awsCode: string; readonly message: string; readonly instanceType?: string; readonly zone?: string; readonly subnetId?: string }[];
};

/** A launch template's content; its name is derived from it, so that equal content is one template. */
export type LaunchTemplateSpec = {
  readonly name: string;
  readonly imageId: string;
  readonly userDataBase64: string;
  readonly instanceProfileName?: string;
  readonly securityGroupIds: readonly string[];
  readonly associatePublicIpAddress?: boolean;
  /** EFA interfaces, one for each network card; absent: one ordinary interface. */
  readonly efaInterfaces?: number;
  /** `ebs` in EC2's own names (VolumeSize in GiB, VolumeType, Iops, ...). */
  readonly blockDevices: readonly { readonly deviceName: string; readonly ebs?: Readonly<Record<string, string | number | boolean>> }[];
  /** In EC2's own names (HttpTokens, ...). */
  readonly metadataOptions: Readonly<Record<string, string | number>>;
  readonly detailedMonitoring: boolean;
  readonly tags: Readonly<Record<string, string>>;
};
