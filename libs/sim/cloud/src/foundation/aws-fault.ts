import { lookUp } from '@dovetail/core-invariant';

/**
 * An error of AWS: the code that callers branch on, the message, and the HTTP status. Every
 * operation of the twin throws it, and each protocol renders it in its own shape.
 */
export class AwsFault extends Error {
  override readonly name = 'AwsFault';
  readonly code: string;
  readonly status: number;
  constructor(code: string, message: string, status = 400) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

/**
 * The refusal of a call that AWS would answer and the twin does not serve: an operation, a
 * parameter or a value. The owner of a foreign client wants to hear of each.
 */
export class NotServedFault extends AwsFault {}

/** EC2's fault for ids that do not exist (yet): all missing ids in one message. */
export function notFound(code: string, noun: string, ids: readonly string[]): AwsFault {
  const list = ids.join(', ');
  return new AwsFault(
    code,
    ids.length === 1
      ? `The ${noun} ID '${list}' does not exist`
      : `The ${noun} IDs '${list}' do not exist`,
  );
}

/** A parameter whose value EC2 refuses. */
export const invalidValue = (parameter: string, value: string, remedy: string): AwsFault =>
  new AwsFault(
    'InvalidParameterValue',
    `Value (${value}) for parameter ${parameter} is invalid. ${remedy}`,
  );

/** A parameter that EC2 needs and did not get. */
export const missingParameter = (parameter: string): AwsFault =>
  new AwsFault('MissingParameter', `The request must contain the parameter ${parameter}`);

const deniedCodes: Readonly<Record<string, readonly [code: string, status: number]>> = {
  ec2: ['UnauthorizedOperation', 403],
  iam: ['AccessDenied', 403],
  sts: ['AccessDenied', 403],
  sqs: ['AccessDenied', 403],
};

/** The refusal of a call that the caller has no right to, in the code of the service. */
export function accessDenied(service: string, sentence: string): AwsFault {
  const [code, status] = lookUp(deniedCodes, service) ?? ['AccessDeniedException', 400];
  const opening = service === 'ec2' ? 'You are not authorized to perform this operation. ' : '';
  return new AwsFault(code, `${opening}${sentence}`, status);
}

/** The service of an action: `ec2` of `ec2:RunInstances`. */
export const serviceOf = (action: string): string => action.slice(0, action.indexOf(':'));
