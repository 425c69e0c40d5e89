import { classifyFleetError, type FleetOutcome } from '@dovetail/core-ec2-model';
import type { CloudErrorCode } from '@dovetail/core-ports';

/** EC2's ways of saying that this offering cannot be had now, quotas included: another may be. */
export const isCapacityError = (error: { readonly awsCode: string; readonly message: string }): boolean => {
  const { code } = classifyFleetError(error.awsCode, error.message);
  return code === 'capacity-exhausted' || code === 'quota-exceeded';
};

/** What follows from a failed call: send the same again later, look instances up by tag, make the template again, try anew, or avoid these offerings. */
export type LaunchRemedy = 'send-again' | 'look-up' | 'make-template' | 'new-attempt' | 'avoid-offerings';

/** The remedy follows from the code alone. */
export function remedyOf(code: CloudErrorCode): LaunchRemedy {
  switch (code) {
    case 'throttled': case 'unavailable': return 'send-again';
    case 'token-mismatch': return 'look-up';
    case 'launch-template-missing': return 'make-template';
    case 'capacity-exhausted': case 'quota-exceeded': return 'avoid-offerings';
    case 'denied': case 'invalid-request': case 'not-found': return 'new-attempt';
  }
}

/** What a fleet's answer means for the claims that got no instance. */
export type Shortage =
  | { readonly kind: 'none' }
  /** Every error names capacity: the claims end, their pods go back to the planner. */
  | { readonly kind: 'capacity'; readonly awsCode: string; readonly message: string }
  | { readonly kind: 'template-missing'; readonly awsCode: string; readonly message: string }
  /** Something else, that the claims can outlive: another attempt. */
  | { readonly kind: 'other'; readonly awsCode: string; readonly message: string };

export function shortageOf(outcome: FleetOutcome, wanted: number): Shortage {
  if (outcome.instances.length >= wanted) return { kind: 'none' };
  const first = outcome.errors.find((error) => !isCapacityError(error)) ?? outcome.errors[0];
  if (first === undefined) return { kind: 'capacity', awsCode: 'InsufficientInstanceCapacity', message: 'EC2 launched fewer instances than asked for and named no error' };
  const { awsCode, message } = first;
  if (classifyFleetError(awsCode).code === 'launch-template-missing') return { kind: 'template-missing', awsCode, message };
  return { kind: isCapacityError(first) ? 'capacity' : 'other', awsCode, message };
}

/** Karpenter's words for the condition Launched, by what EC2 said. */
export function launchFailureReason(awsCode: string): string {
  if (awsCode.includes('Unauthorized') || awsCode.startsWith('AuthFailure')) return 'Unauthorized';
  return launchReasons.get(awsCode) ?? 'LaunchFailed';
}
const launchReasons: ReadonlyMap<string, string> = new Map([
  ['InvalidLaunchTemplateName.NotFoundException', 'LaunchTemplateNotFound'], ['RequestLimitExceeded', 'RequestLimitExceeded'], ['InternalError', 'InternalError'],
  ['InvalidAMIID.NotFound', 'AMINotFound'], ['InvalidAMIID.Malformed', 'InvalidAMIID'], ['InvalidParameterValue', 'LaunchFailed'], ['PendingVerification', 'AccountPendingVerification'],
  ['InvalidSubnetID.NotFound', 'LaunchFailed'], ['InvalidIamInstanceProfileName', 'InstanceProfileNameInvalid'], ['VcpuLimitExceeded', 'VCPULimitExceeded'],
]);
