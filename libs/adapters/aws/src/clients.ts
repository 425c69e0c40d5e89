import { EC2Client } from '@aws-sdk/client-ec2';
import { EKSClient } from '@aws-sdk/client-eks';
import { IAMClient } from '@aws-sdk/client-iam';
import { PricingClient } from '@aws-sdk/client-pricing';
import { SSMClient } from '@aws-sdk/client-ssm';

/** Where and as whom AWS is called. Without credentials the SDK's own chain finds them (environment, profile, IRSA, Pod Identity, IMDS). */
export type AwsConnection = {
  readonly region: string;
  /** One endpoint for all services, for twins and private stands-ins; absent: AWS' own. */
  readonly endpoint?: string;
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string; readonly sessionToken?: string };
  /** How long one call may take; the default of 60 s leaves room for CreateFleet, which answers when its instances exist. */
  readonly callTimeoutMs?: number;
};

export type AwsClients = {
  readonly ec2: EC2Client;
  readonly ssm: SSMClient;
  readonly iam: IAMClient;
  readonly eks: EKSClient;
  readonly pricing: PricingClient;
  destroy(): void;
};

/** The settings that every client of the SDK is made with: no retries of its own, because calls are paced and repeated in one place. */
export function clientSettings(connection: AwsConnection, region = connection.region) {
  return {
    region,
    maxAttempts: 1,
    ...(connection.endpoint === undefined ? {} : { endpoint: connection.endpoint }),
    ...(connection.credentials === undefined ? {} : { credentials: { ...connection.credentials } }),
    requestHandler: { connectionTimeout: 5_000, requestTimeout: connection.callTimeoutMs ?? 60_000, throwOnRequestTimeout: true },
  };
}

/** The SDK's versions are pinned, so its warning about versions to come says nothing about them; it would break the logs' lines. */
export function silenceVersionWarning(): void {
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';
}

export function createClients(connection: AwsConnection): AwsClients {
  silenceVersionWarning();
  const settings = clientSettings(connection);
  const clients = {
    ec2: new EC2Client(settings),
    ssm: new SSMClient(settings),
    iam: new IAMClient(settings),
    eks: new EKSClient(settings),
    pricing: new PricingClient(clientSettings(connection, pricingRegionOf(connection.region))),
  };
  return { ...clients, destroy: () => { for (const client of Object.values(clients)) client.destroy(); } };
}

/** The Pricing API answers in few regions, for all: the nearest one (as Karpenter chooses). */
export function pricingRegionOf(region: string): string {
  if (region.startsWith('ap-')) return 'ap-south-1';
  if (region.startsWith('cn-')) return 'cn-northwest-1';
  return region.startsWith('eu-') ? 'eu-central-1' : 'us-east-1';
}
