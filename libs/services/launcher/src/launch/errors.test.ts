import { describe, expect, test } from 'vitest';

import {
  isCapacityError,
  launchFailureReason,
  offeringsFailed,
  remedyOf,
  shortageOf,
} from './errors.js';
import type { LaunchIntent } from './intent.js';

test('the message of a shortage names the codes of all errors of the fleet', () => {
  const errors = ['InsufficientInstanceCapacity', 'UnauthorizedOperation', 'VcpuLimitExceeded'];
  const answer = errors.map((awsCode) => ({ awsCode, message: `no: ${awsCode}` }));
  expect(shortageOf({ instances: [], errors: answer } as never, 1)).toEqual({
    kind: 'other',
    awsCode: 'UnauthorizedOperation',
    message: 'beside InsufficientInstanceCapacity, VcpuLimitExceeded: no: UnauthorizedOperation',
  });
});

describe('what a fleet answers', () => {
  const outcome = (codes: readonly string[], instances: number) => ({
    fleetId: 'f',
    instances: Array.from({ length: instances }, () => ({
      id: 'i',
      instanceType: 't',
      zone: 'a',
      capacityType: 'spot' as const,
    })),
    errors: codes.map((awsCode) => ({ awsCode, message: awsCode })),
  });
  test.each([
    [
      'as many as wanted is no shortage, errors or not',
      ['InsufficientInstanceCapacity'],
      2,
      'none',
    ],
    [
      'too few for want of capacity',
      ['InsufficientInstanceCapacity', 'UnfulfillableCapacity'],
      1,
      'capacity',
    ],
    [
      'any other error is the one to act on',
      ['InsufficientInstanceCapacity', 'UnauthorizedOperation'],
      0,
      'other',
    ],
    [
      'a missing template is made again',
      ['InvalidLaunchTemplateName.NotFoundException'],
      0,
      'template-missing',
    ],
    ['too few without a word counts as capacity', [], 1, 'capacity'],
  ] as const)('%s', (_sentence, codes, instances, kind) =>
    expect(shortageOf(outcome(codes, instances), 2).kind).toBe(kind),
  );
  test.each([
    'InsufficientInstanceCapacity',
    'MaxSpotInstanceCountExceeded',
    'VcpuLimitExceeded',
    'UnfulfillableCapacity',
    'Unsupported',
    'InsufficientFreeAddressesInSubnet',
    'MaxFleetCountExceeded',
    'ReservationCapacityExceeded',
  ])('%s means: avoid the offering', (awsCode) =>
    expect(isCapacityError({ awsCode, message: '' })).toBe(true),
  );
  test('so does a zone without the type, whatever its code says', () =>
    expect(
      isCapacityError({
        awsCode: 'InvalidFleetConfiguration',
        message:
          'Your requested instance type (x) is not supported in your requested Availability Zone (a).',
      }),
    ).toBe(true));
});

test.each([
  ['throttled', 'send-again'],
  ['unavailable', 'send-again'],
  ['token-mismatch', 'look-up'],
  ['launch-template-missing', 'make-template'],
  ['capacity-exhausted', 'avoid-offerings'],
  ['quota-exceeded', 'avoid-offerings'],
  ['denied', 'new-attempt'],
  ['invalid-request', 'new-attempt'],
  ['not-found', 'new-attempt'],
] as const)('the remedy of %s is %s', (code, remedy) => expect(remedyOf(code)).toBe(remedy));

test.each([
  ['UnauthorizedOperation', 'Unauthorized'],
  ['AuthFailure.ServiceLinkedRoleCreationNotPermitted', 'Unauthorized'],
  ['InvalidLaunchTemplateName.NotFoundException', 'LaunchTemplateNotFound'],
  ['PendingVerification', 'AccountPendingVerification'],
  ['VcpuLimitExceeded', 'VCPULimitExceeded'],
  ['SomethingNew', 'LaunchFailed'],
])("%s becomes Karpenter's reason %s", (awsCode, reason) =>
  expect(launchFailureReason(awsCode)).toBe(reason),
);

describe('offerings that an error makes unavailable', () => {
  const override = (instanceType: string, zone: string) => ({
    instanceType,
    zone,
    subnetId: `subnet-${zone}`,
  });
  const intent: LaunchIntent = {
    id: 'i',
    attempt: 1,
    createdMs: 0,
    members: ['a'],
    request: {
      capacityType: 'spot',
      count: 1,
      allocation: 'price-capacity-optimized',
      tags: {},
      configs: [
        {
          launchTemplateName: 'one',
          overrides: [override('m5.large', 'a'), override('m5.large', 'b')],
        },
        { launchTemplateName: 'two', overrides: [override('c5.large', 'a')] },
      ],
    },
  };
  const all = ['m5.large/a', 'm5.large/b', 'c5.large/a'];
  const noCapacity = 'InsufficientInstanceCapacity';
  test.each([
    ['an error about something else names none', { awsCode: 'InvalidAMIID.NotFound' }, []],
    [
      'an offering that was not requested is none',
      { awsCode: noCapacity, instanceType: 'p5.48xlarge', zone: 'a' },
      [],
    ],
    [
      'type and zone name one offering',
      { awsCode: noCapacity, instanceType: 'm5.large', zone: 'b' },
      ['m5.large/b'],
    ],
    [
      'a type alone names it in all zones',
      { awsCode: noCapacity, instanceType: 'm5.large' },
      ['m5.large/a', 'm5.large/b'],
    ],
    [
      'a zone alone names all types in it',
      { awsCode: noCapacity, zone: 'a' },
      ['m5.large/a', 'c5.large/a'],
    ],
    ['an error without a name is about all', { awsCode: noCapacity }, all],
    [
      'an error of the whole capacity type is about that, whatever it names',
      {
        awsCode: 'AuthFailure.ServiceLinkedRoleCreationNotPermitted',
        instanceType: 'm5.large',
        zone: 'a',
      },
      ['*/*'],
    ],
  ])('%s', (_sentence, error, expected) => {
    const failed = offeringsFailed(intent, { message: '', ...error });
    expect(failed.map(({ instanceType, zone }) => `${instanceType}/${zone}`)).toEqual(expected);
    expect(failed.every(({ capacityType }) => capacityType === 'spot')).toBe(true);
  });
});
