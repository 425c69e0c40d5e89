import { AwsFault } from '../foundation/aws-fault.js';

/**
 * The signer and the region of a signature's scope. Signatures are not verified, because the twin
 * knows no secrets.
 */
export type Credentials = { readonly accessKey: string; readonly region: string };

const missing = (service: string): AwsFault =>
  new AwsFault(
    service === 'ec2' ? 'AuthFailure' : 'MissingAuthenticationToken',
    'Request is missing Authentication Token',
    service === 'ec2' ? 401 : 403,
  );

function unknownKey(service: string): AwsFault {
  switch (service) {
    case 'ec2':
      return new AwsFault(
        'AuthFailure',
        'AWS was not able to validate the provided access credentials',
        401,
      );
    case 'iam':
    case 'sts':
    case 'sqs':
      return new AwsFault(
        'InvalidClientTokenId',
        'The security token included in the request is invalid',
        403,
      );
    default:
      return new AwsFault(
        'UnrecognizedClientException',
        'The security token included in the request is invalid.',
        service === 'eks' ? 403 : 400,
      );
  }
}

/** These services have one endpoint for all regions, or regions of their own. */
const anyRegion: ReadonlySet<string> = new Set(['iam', 'sts', 'pricing']);

/**
 * Reads the Authorization header of AWS Signature Version 4. Throws the service's own fault for a
 * missing header and for a scope of another region. A key that is not among `accessKeys` (if given)
 * is such a fault, too.
 */
export function credentialsOf(
  header: string | undefined,
  call: {
    readonly service: string;
    readonly region: string;
    readonly accessKeys?: readonly string[];
  },
): Credentials {
  const match = /Credential=([^/,\s]+)\/\d{8}\/([^/]+)\/[^/]+\/aws4_request/.exec(header ?? '');
  if (match === null) throw missing(call.service);
  const [, accessKey = '', region = ''] = match;
  if (call.accessKeys !== undefined && !call.accessKeys.includes(accessKey))
    throw unknownKey(call.service);
  if (region !== call.region && !anyRegion.has(call.service)) {
    throw new AwsFault(
      call.service === 'ec2' ? 'AuthFailure' : 'InvalidSignatureException',
      `Credential should be scoped to a valid region; this is ${call.region}, not ${region}.`,
      call.service === 'ec2' ? 401 : 403,
    );
  }
  return { accessKey, region };
}
