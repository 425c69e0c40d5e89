import {
  classifyFleetError,
  type FleetOutcome,
  type OfferingIdentity,
  wholeCapacityType,
} from '@dovetail/core-ec2-model';
import type { CloudErrorCode } from '@dovetail/core-ports';

import type { LaunchIntent } from './intent.js';

/** An error as EC2 reports it. */
export type FailedCall = { readonly awsCode: string; readonly message: string };

/** Whether EC2 says that an offering has no capacity now, or that a quota is used up. */
export const isCapacityError = ({ awsCode, message }: FailedCall): boolean => {
  const { code } = classifyFleetError(awsCode, message);
  return code === 'capacity-exhausted' || code === 'quota-exceeded';
};

/** The step that follows a failed call. */
export type LaunchRemedy =
  /** Send the same request again later. */
  | 'send-again'
  /** The token is used up: look the instances up by the intent's tag. */
  | 'look-up'
  /** Make the launch template again, then send the same request. */
  | 'make-template'
  /** Nothing was bought: build a new intent. */
  | 'new-attempt'
  /** Mark the request's offerings as unavailable and end the claims. */
  | 'avoid-offerings';

/** The remedy of a failed call; it follows from the code alone. */
export function remedyOf(code: CloudErrorCode): LaunchRemedy {
  switch (code) {
    case 'throttled':
    case 'unavailable':
      return 'send-again';
    case 'token-mismatch':
      return 'look-up';
    case 'launch-template-missing':
      return 'make-template';
    case 'capacity-exhausted':
    case 'quota-exceeded':
      return 'avoid-offerings';
    case 'denied':
    case 'invalid-request':
    case 'not-found':
      return 'new-attempt';
  }
}

/** Why a fleet launched fewer instances than its intent has claims. */
export type Shortage =
  /** It did not. */
  | { readonly kind: 'none' }
  /** Every error names capacity: the claims end and their pods are planned again. */
  | { readonly kind: 'capacity'; readonly awsCode: string; readonly message: string }
  /** A launch template was missing: it is made again. */
  | { readonly kind: 'template-missing'; readonly awsCode: string; readonly message: string }
  /** Another error, which the claims outlive: a new attempt follows. */
  | { readonly kind: 'other'; readonly awsCode: string; readonly message: string };

/**
 * The shortage of a fleet's answer. An error that does not name capacity decides over those that
 * do. The message names the codes of the others, too.
 */
export function shortageOf(outcome: FleetOutcome, wanted: number): Shortage {
  if (outcome.instances.length >= wanted) return { kind: 'none' };
  const first = outcome.errors.find((error) => !isCapacityError(error)) ?? outcome.errors[0];
  if (first === undefined)
    return {
      kind: 'capacity',
      awsCode: 'InsufficientInstanceCapacity',
      message: 'EC2 launched fewer instances than requested and gave no error',
    };
  const { awsCode } = first;
  const message = `${besides(awsCode, outcome.errors)}${first.message}`;
  if (classifyFleetError(awsCode).code === 'launch-template-missing')
    return { kind: 'template-missing', awsCode, message };
  return { kind: isCapacityError(first) ? 'capacity' : 'other', awsCode, message };
}

/** Codes that are named beside the first. As many leave room in an Event of 1,024 characters. */
const codesMax = 12;

/** Names the other codes of a fleet's errors: `beside InsufficientInstanceCapacity: `. */
function besides(awsCode: string, errors: FleetOutcome['errors']): string {
  const others = new Set(errors.map((error) => error.awsCode).filter((code) => code !== awsCode));
  if (others.size === 0) return '';
  const more = others.size > codesMax ? ` and ${String(others.size - codesMax)} more` : '';
  return `beside ${[...others].slice(0, codesMax).join(', ')}${more}: `;
}

/**
 * Karpenter's reason of the condition Launched for an EC2 error (its ToReasonMessage, pkg/errors).
 */
export function launchFailureReason(awsCode: string): string {
  if (awsCode.includes('Unauthorized') || awsCode.startsWith('AuthFailure')) return 'Unauthorized';
  return launchReasons.get(awsCode) ?? 'LaunchFailed';
}
const launchReasons: ReadonlyMap<string, string> = new Map([
  ['InvalidLaunchTemplateName.NotFoundException', 'LaunchTemplateNotFound'],
  ['RequestLimitExceeded', 'RequestLimitExceeded'],
  ['InternalError', 'InternalError'],
  ['InvalidAMIID.NotFound', 'AMINotFound'],
  ['InvalidAMIID.Malformed', 'InvalidAMIID'],
  ['InvalidParameterValue', 'LaunchFailed'],
  ['PendingVerification', 'AccountPendingVerification'],
  ['InvalidSubnetID.NotFound', 'LaunchFailed'],
  ['InvalidIamInstanceProfileName', 'InstanceProfileNameInvalid'],
  ['VcpuLimitExceeded', 'VCPULimitExceeded'],
]);

/**
 * The offerings that an error makes unavailable: those it names, or all of the request's when it
 * names none, or the whole capacity type if it concerns that. None, when it is not about capacity.
 */
export function offeringsFailed(
  intent: LaunchIntent,
  error: FleetOutcome['errors'][number],
): readonly OfferingIdentity[] {
  const { scope } = classifyFleetError(error.awsCode, error.message);
  if (!isCapacityError(error) && scope !== 'capacity-type') return [];
  const { capacityType } = intent.request;
  if (scope === 'capacity-type') return [wholeCapacityType(capacityType)];
  const requested = intent.request.configs.flatMap(({ overrides }) =>
    overrides.map(({ instanceType, zone }) => ({ instanceType, zone, capacityType })),
  );
  // A subnet without addresses takes no type at all.
  const named = scope === 'subnet' ? undefined : error.instanceType;
  return requested.filter(
    ({ instanceType, zone }) =>
      (named ?? instanceType) === instanceType && (error.zone ?? zone) === zone,
  );
}

/** The request's subnets, with their zones, that an error says have no free address. */
export function subnetsRefused(
  intent: LaunchIntent,
  error: FleetOutcome['errors'][number],
): readonly { readonly subnetId: string; readonly zone: string }[] {
  const { scope } = classifyFleetError(error.awsCode, error.message);
  const { subnetId, zone } = error;
  // Without either the error may be of any of the request's subnets.
  if (scope !== 'subnet' || (subnetId === undefined && zone === undefined)) return [];
  const named = intent.request.configs
    .flatMap(({ overrides }) => overrides)
    .filter((each) => (subnetId ?? each.subnetId) === each.subnetId)
    .filter((each) => (zone ?? each.zone) === each.zone);
  return [...new Map(named.map((each) => [each.subnetId, each])).values()];
}
