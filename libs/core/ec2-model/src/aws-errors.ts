import type { CloudErrorCode } from './cloud-values.js';

/** What a failed override makes unavailable, for the catalog. */
export type FailureScope = 'offering' | 'subnet' | 'capacity-type' | 'account' | 'request';

/** An error that CreateFleet reports for one override: what it means, and how far it reaches. */
export type FleetFailure = { readonly code: CloudErrorCode; readonly scope: FailureScope };

const failure = (code: CloudErrorCode, scope: FailureScope): FleetFailure => ({ code, scope });
const exhausted = failure('capacity-exhausted', 'offering');
const throttled = failure('throttled', 'account');
const unavailable = failure('unavailable', 'account');
const denied = failure('denied', 'account');

/**
 * AWS' error codes and what they mean here. The first eight are the ones after which Karpenter avoids an offering for
 * three minutes; quotas are among them, because another family or capacity type often has its own.
 */
const failures: ReadonlyMap<string, FleetFailure> = new Map([
  ['InsufficientInstanceCapacity', exhausted],
  ['UnfulfillableCapacity', exhausted],
  ['Unsupported', exhausted],
  ['ReservationCapacityExceeded', exhausted],
  ['MaxSpotInstanceCountExceeded', failure('quota-exceeded', 'offering')],
  ['VcpuLimitExceeded', failure('quota-exceeded', 'offering')],
  ['InsufficientFreeAddressesInSubnet', failure('capacity-exhausted', 'subnet')],
  ['MaxFleetCountExceeded', failure('quota-exceeded', 'account')],

  ['InsufficientHostCapacity', exhausted],
  ['InsufficientCapacity', exhausted],
  ['SpotMaxPriceTooLow', exhausted],
  ['InstanceLimitExceeded', failure('quota-exceeded', 'offering')],
  ['FleetQuotaExceededException', failure('quota-exceeded', 'account')],
  ['PendingVerification', failure('quota-exceeded', 'account')],
  // Without its service-linked role an account can buy no spot at all.
  ['AuthFailure.ServiceLinkedRoleCreationNotPermitted', failure('denied', 'capacity-type')],

  ['UnauthorizedOperation', denied],
  ['AuthFailure', denied],
  ['AccessDenied', denied],
  ['AccessDeniedException', denied],
  ['OptInRequired', denied],
  ['InvalidClientTokenId', denied],
  ['UnrecognizedClientException', denied],
  ['SignatureDoesNotMatch', denied],
  ['InvalidSignatureException', denied],
  ['IncompleteSignature', denied],
  ['MissingAuthenticationToken', denied],
  ['ExpiredToken', denied],
  ['ExpiredTokenException', denied],
  ['RequestExpired', denied],
  ['CredentialsProviderError', denied],

  ['RequestLimitExceeded', throttled],
  ['Throttling', throttled],
  ['ThrottlingException', throttled],
  ['ThrottledException', throttled],
  ['TooManyRequestsException', throttled],
  ['RequestThrottled', throttled],
  ['RequestThrottledException', throttled],
  ['EC2ThrottledException', throttled],
  ['BandwidthLimitExceeded', throttled],
  ['PriorRequestNotComplete', throttled],
  ['OverLimit', throttled],

  ['InternalError', unavailable],
  ['InternalFailure', unavailable],
  ['InternalServerError', unavailable],
  ['ServerException', unavailable],
  ['InternalServerException', unavailable],
  ['ServiceUnavailable', unavailable],
  ['ServiceUnavailableException', unavailable],
  ['Unavailable', unavailable],
  ['RequestTimeout', unavailable],
  ['RequestTimeoutException', unavailable],
  ['TimeoutError', unavailable],
  ['AbortError', unavailable],
  ['NetworkingError', unavailable],

  ['IdempotentParameterMismatch', failure('token-mismatch', 'request')],
  ['InvalidLaunchTemplateName.NotFoundException', failure('launch-template-missing', 'request')],
  ['InvalidLaunchTemplateId.NotFound', failure('launch-template-missing', 'request')],
  ['NoSuchEntity', failure('not-found', 'request')],
  ['NoSuchEntityException', failure('not-found', 'request')],
  ['ResourceNotFoundException', failure('not-found', 'request')],
  ['ParameterNotFound', failure('not-found', 'request')],
  ['QueueDoesNotExist', failure('not-found', 'request')],
  ['AWS.SimpleQueueService.NonExistentQueue', failure('not-found', 'request')],
  ['LimitExceeded', failure('quota-exceeded', 'request')],
  ['LimitExceededException', failure('quota-exceeded', 'request')],
]);

/** How CreateFleet says, under a code that also names defects of the request, that a zone does not have the instance type. */
const typeNotInZone = /not supported in your requested Availability Zone/i;

/**
 * What an AWS error means, by its code and, where that alone is ambiguous, its message. Codes that nobody listed are taken for a defect
 * of the request, except those named NotFound.
 */
export function classifyFleetError(awsCode: string, message = ''): FleetFailure {
  const known = failures.get(awsCode);
  if (known !== undefined) return known;
  if (awsCode === 'InvalidFleetConfiguration' && typeNotInZone.test(message)) return exhausted;
  return /\.NotFound(Exception)?$|NotFoundException$/.test(awsCode) ? failure('not-found', 'request') : failure('invalid-request', 'request');
}
