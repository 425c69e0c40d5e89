import { $Command as Command, type STSClient } from '@aws-sdk/nested-clients/sts';
import { getEndpointPlugin } from '@smithy/core/endpoints';

/** The part of the answer that is read. */
type CallerIdentity = { readonly Account?: string; readonly $metadata: object };

const builder = Command.classBuilder<
  object,
  CallerIdentity,
  STSClient['config'],
  object,
  CallerIdentity
>();

const service = 'com.amazonaws.sts';
/** The shape of the call in Smithy's numbers: 9 is an operation, 3 a structure, 0 a text. */
const operation = [
  9,
  service,
  'GetCallerIdentity',
  0,
  () => [3, service, 'GetCallerIdentityRequest', 0, [], []],
  () => [3, service, 'GetCallerIdentityResponse', 0, ['Account'], [0]],
] as unknown as Parameters<typeof builder.sc>[0];

/** The settings of the client from which the endpoint follows. */
const endpoint = {
  UseGlobalEndpoint: { type: 'builtInParams', name: 'useGlobalEndpoint' },
  UseFIPS: { type: 'builtInParams', name: 'useFipsEndpoint' },
  Endpoint: { type: 'builtInParams', name: 'endpoint' },
  Region: { type: 'builtInParams', name: 'region' },
  UseDualStack: { type: 'builtInParams', name: 'useDualstackEndpoint' },
} as const;

/**
 * GetCallerIdentity, which the SDK's small client of STS does not have. All else is that client's:
 * the endpoint of any partition, the signature, and how errors are read.
 */
const GetCallerIdentity = builder
  .ep(endpoint)
  .m((_type, _stack, config: STSClient['config']) => [getEndpointPlugin(config, endpoint)])
  .s('AWSSecurityTokenServiceV20110615', 'GetCallerIdentity')
  .n('STSClient', 'GetCallerIdentityCommand')
  .sc(operation)
  .build();

/** The account that the client's credentials belong to. Rejects with the SDK's error. */
export async function callerAccount(sts: STSClient): Promise<string> {
  // The client's type lists the two commands that the SDK's own providers need.
  const client = sts as unknown as {
    send(command: InstanceType<typeof GetCallerIdentity>): Promise<CallerIdentity>;
  };
  const { Account: account } = await client.send(new GetCallerIdentity({}));
  if (account !== undefined) return account;
  throw Object.assign(new Error('STS named no account'), { name: 'InternalError' });
}
