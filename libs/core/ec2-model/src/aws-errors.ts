import type { CloudErrorCode } from './cloud-values.js';

/** How far a failure reaches, so that the catalog avoids no more than that. */
type FailureScope = 'offering' | 'subnet' | 'capacity-type' | 'account' | 'request';

/** The meaning of an AWS error and how far it reaches. */
export type FleetFailure = { readonly code: CloudErrorCode; readonly scope: FailureScope };

const failure = (code: CloudErrorCode, scope: FailureScope): FleetFailure => ({ code, scope });
const exhausted = failure('capacity-exhausted', 'offering');
const throttled = failure('throttled', 'account');
const unavailable = failure('unavailable', 'account');
const denied = failure('denied', 'account');

/**
 * AWS' error codes and their meaning. After the first eight, Karpenter avoids an offering for three
 * minutes. Quotas are among them, because another family or capacity type often has its own.
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
  // An account without the service-linked role cannot buy any spot instance.
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

/**
 * CreateFleet's message when a zone lacks the instance type. Its code also stands for defects of
 * the request.
 */
const typeNotInZone = /not supported in your requested Availability Zone/i;

/**
 * Classifies an AWS error by its code, and by its message where the code is ambiguous. A code that
 * is not listed counts as a defect of the request, unless it ends in NotFound.
 */
export function classifyFleetError(awsCode: string, message = ''): FleetFailure {
  const known = failures.get(awsCode);
  if (known !== undefined) return known;
  if (awsCode === 'InvalidFleetConfiguration' && typeNotInZone.test(message)) return exhausted;
  return /\.NotFound(Exception)?$|NotFoundException$/.test(awsCode)
    ? failure('not-found', 'request')
    : failure('invalid-request', 'request');
}
