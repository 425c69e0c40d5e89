import { describe, expect, test } from 'vitest';

import { contextOf, decide, type RequestFacts } from './evaluate.js';
import { parsePolicy } from './policy.js';

type Block = Readonly<Record<string, unknown>>;

const policy = (...statements: readonly Block[]) =>
  parsePolicy(
    JSON.stringify({
      Version: '2012-10-17',
      Statement: statements.map((statement, index) => ({
        Sid: `S${index}`,
        Effect: 'Allow',
        Action: 'ec2:RunInstances',
        Resource: '*',
        ...statement,
      })),
    }),
  );

const asked = (
  statements: readonly Block[],
  request: { action?: string; resource?: string } & Partial<RequestFacts> = {},
): string => {
  const {
    action = 'ec2:RunInstances',
    resource = 'arn:aws:ec2:eu-west-1:1:instance/*',
    ...facts
  } = request;
  const context = contextOf({ region: 'eu-west-1', ...facts });
  return decide([policy(...statements)], { action, resource, context }).kind;
};

const ours = { 'kubernetes.io/cluster/lab': 'owned' };
const requestTag = (value: unknown): Block => ({
  StringEquals: { 'aws:RequestTag/kubernetes.io/cluster/lab': value },
});

describe('a request', () => {
  test.each([
    [
      'without a statement for its action is denied',
      [{ Action: 'ec2:CreateFleet' }],
      {},
      'implicit-deny',
    ],
    [
      'of another case of letters is the same action',
      [{ Action: 'EC2:runinstances' }],
      {},
      'allow',
    ],
    ['may be matched by a wildcard', [{ Action: 'ec2:Run*' }], {}, 'allow'],
    [
      'on another resource is denied',
      [{ Resource: 'arn:aws:ec2:*:*:subnet/*' }],
      {},
      'implicit-deny',
    ],
    [
      'on a resource of another case is denied',
      [{ Resource: 'arn:aws:ec2:*:*:INSTANCE/*' }],
      {},
      'implicit-deny',
    ],
    [
      'on a resource of the list is allowed',
      [{ Resource: ['arn:aws:x', 'arn:aws:ec2:*:1:instance/*'] }],
      {},
      'allow',
    ],
    ['matches a dot of a pattern as a dot', [{ Resource: 'arn.aws:ec2:*' }], {}, 'implicit-deny'],
    ['is denied by Deny whatever allows it', [{}, { Effect: 'Deny' }], {}, 'explicit-deny'],
    [
      'is not denied by a Deny whose condition fails',
      [{}, { Effect: 'Deny', Condition: requestTag('owned') }],
      {},
      'allow',
    ],
    ['without the tag is denied', [{ Condition: requestTag('owned') }], {}, 'implicit-deny'],
    [
      'with the tag is allowed',
      [{ Condition: requestTag('owned') }],
      { requestTags: ours },
      'allow',
    ],
    [
      'with another value of the tag is denied',
      [{ Condition: requestTag('shared') }],
      { requestTags: ours },
      'implicit-deny',
    ],
    [
      'with one of the values is allowed',
      [{ Condition: requestTag(['shared', 'owned']) }],
      { requestTags: ours },
      'allow',
    ],
    [
      'whose resource has the tag gave none itself',
      [{ Condition: requestTag('owned') }],
      { resourceTags: ours },
      'implicit-deny',
    ],
    [
      'needs every key of an operator',
      [
        {
          Condition: {
            StringEquals: {
              'aws:RequestTag/kubernetes.io/cluster/lab': 'owned',
              'aws:RequestedRegion': 'us-east-1',
            },
          },
        },
      ],
      { requestTags: ours },
      'implicit-deny',
    ],
    [
      'needs every operator',
      [{ Condition: { ...requestTag('owned'), StringLike: { 'aws:RequestedRegion': 'us-*' } } }],
      { requestTags: ours },
      'implicit-deny',
    ],
    [
      'meets StringLike',
      [{ Condition: { StringLike: { 'aws:RequestTag/kubernetes.io/cluster/lab': 'o*d' } } }],
      { requestTags: ours },
      'allow',
    ],
    [
      'meets StringNotEquals without the key',
      [{ Condition: { StringNotEquals: { 'aws:RequestTag/a': 'b' } } }],
      {},
      'allow',
    ],
    [
      'fails StringNotEquals with an equal value',
      [{ Condition: { StringNotEquals: { 'aws:RequestedRegion': ['us-east-1', 'eu-west-1'] } } }],
      {},
      'implicit-deny',
    ],
    [
      'meets IfExists without the key',
      [{ Condition: { StringEqualsIfExists: { 'aws:RequestTag/a': 'b' } } }],
      {},
      'allow',
    ],
    [
      'fails IfExists with another value',
      [{ Condition: { StringEqualsIfExists: { 'aws:RequestTag/a': 'b' } } }],
      { requestTags: { a: 'c' } },
      'implicit-deny',
    ],
    [
      'meets Null true without the key',
      [{ Condition: { Null: { 'aws:TagKeys': 'true' } } }],
      {},
      'allow',
    ],
    [
      'fails Null false without the key',
      [{ Condition: { Null: { 'aws:TagKeys': false } } }],
      {},
      'implicit-deny',
    ],
    [
      'meets ForAllValues if all keys are listed',
      [{ Condition: { 'ForAllValues:StringEquals': { 'aws:TagKeys': ['Name', 'x'] } } }],
      { requestTags: { Name: 'n' } },
      'allow',
    ],
    [
      'fails ForAllValues with one key more',
      [{ Condition: { 'ForAllValues:StringEquals': { 'aws:TagKeys': ['Name'] } } }],
      { requestTags: { Name: 'n', x: '' } },
      'implicit-deny',
    ],
    [
      'meets ForAllValues without any tag, as AWS warns',
      [{ Condition: { 'ForAllValues:StringEquals': { 'aws:TagKeys': ['Name'] } } }],
      {},
      'allow',
    ],
    [
      'meets ForAnyValue with one key of several',
      [{ Condition: { 'ForAnyValue:StringEquals': { 'aws:TagKeys': ['Name'] } } }],
      { requestTags: { Name: 'n', x: '' } },
      'allow',
    ],
    [
      'fails ForAnyValue without any tag',
      [{ Condition: { 'ForAnyValue:StringEquals': { 'aws:TagKeys': ['Name'] } } }],
      {},
      'implicit-deny',
    ],
    [
      'meets a tag key in other letters',
      [{ Condition: { StringEquals: { 'AWS:requesttag/NAME': 'n' } } }],
      { requestTags: { Name: 'n' } },
      'allow',
    ],
    [
      'passes a role to the service',
      [{ Condition: { StringEquals: { 'iam:PassedToService': 'ec2.amazonaws.com' } } }],
      { passedTo: 'ec2.amazonaws.com' },
      'allow',
    ],
    [
      'tags what an operation makes',
      [{ Condition: { StringEquals: { 'ec2:CreateAction': ['CreateFleet'] } } }],
      { createAction: 'RunInstances' },
      'implicit-deny',
    ],
  ] as const)('%s', (_what, statements, request, kind) => {
    expect(asked(statements, request)).toBe(kind);
  });

  test('is allowed if one of several policies allows it', () => {
    const request = {
      action: 'ec2:RunInstances',
      resource: '*',
      context: contextOf({ region: 'x' }),
    };
    expect(decide([policy({ Action: 'sqs:*' }), policy({})], request)).toEqual({
      kind: 'allow',
      sid: 'S0',
    });
    expect(decide([], request)).toEqual({ kind: 'implicit-deny' });
  });
});

describe('a policy is refused', () => {
  test.each([
    [
      'with an unknown operator',
      { Condition: { NumericLessThan: { 'aws:TagKeys': '1' } } },
      'S0.Condition has the operator NumericLessThan',
    ],
    [
      'with an unknown quantifier',
      { Condition: { 'ForSome:StringEquals': { 'aws:TagKeys': '1' } } },
      'the operator ForSome:StringEquals',
    ],
    [
      'with NullIfExists',
      { Condition: { NullIfExists: { 'aws:TagKeys': 'true' } } },
      'the operator NullIfExists',
    ],
    [
      'with a key that requests do not have',
      { Condition: { StringEquals: { 'aws:RequestTags/a': 'b' } } },
      "S0.Condition.StringEquals.aws:RequestTags/a: the twin's requests have no such key",
    ],
    [
      'with a tag key without a name',
      { Condition: { StringEquals: { 'aws:RequestTag/': 'b' } } },
      'no such key',
    ],
    [
      'with a placeholder',
      { Resource: 'arn:${AWS_PARTITION}:x' },
      'S0.Resource is "arn:${AWS_PARTITION}:x"; fill in its placeholders',
    ],
    [
      'with a placeholder in a key',
      { Condition: { StringEquals: { 'aws:RequestTag/${X}': 'b' } } },
      'fill in its placeholders',
    ],
    ['with NotAction', { NotAction: 'ec2:*' }, 'S0 has NotAction, which is not evaluated here'],
    ['with a principal', { Principal: '*' }, 'S0 has Principal'],
    ['with another effect', { Effect: 'allow' }, 'S0.Effect is "allow"; use Allow or Deny'],
    ['with an action without a service', { Action: 'RunInstances' }, 'S0.Action is "RunInstances"'],
    ['without resources', { Resource: undefined }, 'S0.Resource is undefined; give a string'],
  ] as const)('%s', (_what, statement, message) => {
    expect(() => policy(statement)).toThrow(message);
  });

  test.each([
    ['that is not JSON', '{', 'the policy is not JSON'],
    [
      'of another version',
      '{"Version":"2008-10-17","Statement":[]}',
      'Version is "2008-10-17"; use 2012-10-17',
    ],
    [
      'with unknown elements',
      '{"Version":"2012-10-17","Statement":[],"Rules":[]}',
      'the policy has Rules',
    ],
  ])('%s', (_what, text, message) => {
    expect(() => parsePolicy(text)).toThrow(message);
  });
});
