import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { classifyFleetError } from './aws-errors.js';

fc.configureGlobal({ seed: 1 });

describe('AWS error codes', () => {
  test.each([
    ['InsufficientInstanceCapacity', 'capacity-exhausted', 'offering'],
    ['UnfulfillableCapacity', 'capacity-exhausted', 'offering'],
    ['Unsupported', 'capacity-exhausted', 'offering'],
    ['InsufficientFreeAddressesInSubnet', 'capacity-exhausted', 'subnet'],
    ['MaxSpotInstanceCountExceeded', 'quota-exceeded', 'offering'],
    ['VcpuLimitExceeded', 'quota-exceeded', 'offering'],
    ['AuthFailure.ServiceLinkedRoleCreationNotPermitted', 'denied', 'capacity-type'],
    ['UnauthorizedOperation', 'denied', 'account'],
    ['RequestLimitExceeded', 'throttled', 'account'],
    ['IdempotentParameterMismatch', 'token-mismatch', 'request'],
    ['InvalidLaunchTemplateName.NotFoundException', 'launch-template-missing', 'request'],
    ['InvalidInstanceID.NotFound', 'not-found', 'request'],
    ['InvalidSubnetID.NotFound', 'not-found', 'request'],
    ['InvalidParameterValue', 'invalid-request', 'request'],
    ['SomethingNew', 'invalid-request', 'request'],
  ])('%s means %s of the %s', (awsCode, code, scope) =>
    expect(classifyFleetError(awsCode)).toEqual({ code, scope }),
  );

  test.each([
    [
      'Your requested instance type (m9g.large) is not supported in your requested Availability Zone (us-west-2d).',
      'capacity-exhausted',
      'offering',
    ],
    ['The fleet configuration contains duplicate instance pools.', 'invalid-request', 'request'],
  ])('InvalidFleetConfiguration, "%s", means %s of the %s', (message, code, scope) =>
    expect(classifyFleetError('InvalidFleetConfiguration', message)).toEqual({ code, scope }),
  );
});

test.each(['InsufficientInstanceCapacity', 'VcpuLimitExceeded', 'MaxSpotInstanceCountExceeded'])(
  'after %s only this offering is avoided, because others may still be bought',
  (awsCode) => expect(classifyFleetError(awsCode).scope).toBe('offering'),
);

test.each(['insufficientinstancecapacity', 'Insufficient', ''])(
  '%j is no code of AWS, so it is taken for a defect of the request',
  (awsCode) => expect(classifyFleetError(awsCode).code).toBe('invalid-request'),
);

describe('how far a failure reaches', () => {
  test.each([
    ['UnauthorizedOperation', 'account'],
    ['RequestLimitExceeded', 'account'],
    ['MaxFleetCountExceeded', 'account'],
    ['InternalError', 'account'],
    ['InsufficientFreeAddressesInSubnet', 'subnet'],
    ['AuthFailure.ServiceLinkedRoleCreationNotPermitted', 'capacity-type'],
    ['InvalidLaunchTemplateId.NotFound', 'request'],
  ])('%s reaches the whole %s', (awsCode, scope) =>
    expect(classifyFleetError(awsCode).scope).toBe(scope),
  );

  test('no message changes the meaning of a code that is known', () =>
    fc.assert(
      fc.property(fc.string(), (message) => {
        expect(classifyFleetError('RequestLimitExceeded', message)).toEqual(
          classifyFleetError('RequestLimitExceeded'),
        );
      }),
    ));
});
