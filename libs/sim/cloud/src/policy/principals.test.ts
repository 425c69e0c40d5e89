import { describe, expect, test } from 'vitest';

import { contextOf, decide } from './evaluate.js';
import { parsePolicy, type PolicyKind } from './policy.js';

type Block = Readonly<Record<string, unknown>>;

describe('a policy that names principals', () => {
  const queue = 'arn:aws:sqs:eu-west-1:1:q';
  const rule = {
    'aws:SourceArn': 'arn:aws:events:eu-west-1:1:rule/r',
    'aws:SecureTransport': 'true',
  };
  const statements = [
    {
      Effect: 'Allow',
      Principal: { Service: ['events.amazonaws.com', 'sns.amazonaws.com'] },
      Action: 'sqs:SendMessage',
      Resource: queue,
      Condition: { ArnEquals: { 'aws:SourceArn': 'arn:aws:events:eu-west-1:1:rule/r' } },
    },
    {
      Effect: 'Deny',
      Principal: '*',
      Action: 'sqs:*',
      Resource: queue,
      Condition: { Bool: { 'aws:SecureTransport': false } },
    },
  ];
  const policyOf = (kind: PolicyKind, list: readonly Block[]) =>
    parsePolicy(JSON.stringify({ Version: '2012-10-17', Statement: list }), kind);

  test.each([
    ['lets in a service that it names', 'Service:events.amazonaws.com', {}, 'allow'],
    ['lets in no other service', 'Service:s3.amazonaws.com', {}, 'implicit-deny'],
    ['lets in no account of that name', 'AWS:events.amazonaws.com', {}, 'implicit-deny'],
    [
      'holds to its conditions',
      'Service:sns.amazonaws.com',
      { 'aws:SourceArn': 'arn:aws:events:eu-west-1:2:rule/r' },
      'implicit-deny',
    ],
    [
      'denies everyone by *',
      'Service:events.amazonaws.com',
      { 'aws:SecureTransport': 'false' },
      'explicit-deny',
    ],
  ])('%s', (_what, principal, others, kind) => {
    const context = contextOf({ region: 'eu-west-1', others: { ...rule, ...others } });
    const request = { action: 'sqs:SendMessage', resource: queue, principal, context };
    expect(decide([policyOf('resource', statements)], request).kind).toBe(kind);
  });

  const trust = {
    Effect: 'Allow',
    Principal: { Federated: 'arn:aws:iam::1:oidc-provider/oidc.example.com/id/A' },
    Action: 'sts:AssumeRoleWithWebIdentity',
    Condition: { StringEquals: { 'oidc.example.com/id/A:sub': 'system:serviceaccount:a:b' } },
  };
  test.each([
    ['system:serviceaccount:a:b', 'allow'],
    ['system:serviceaccount:a:c', 'implicit-deny'],
  ])('a trust policy reads the claims of a token: %s is %s', (sub, kind) => {
    const request = {
      action: 'sts:AssumeRoleWithWebIdentity',
      resource: 'arn:aws:iam::1:role/r',
      principal: 'Federated:arn:aws:iam::1:oidc-provider/oidc.example.com/id/A',
      context: contextOf({ region: 'eu-west-1', others: { 'oidc.example.com/id/A:sub': sub } }),
    };
    expect(decide([policyOf('trust', [trust])], request).kind).toBe(kind);
  });

  test.each([
    ['resource', { ...statements[0], Principal: undefined }, 'Principal is undefined'],
    ['trust', { ...trust, Resource: '*' }, 'has Resource, which is not evaluated here'],
    [
      'trust',
      { ...trust, Condition: { StringEquals: { 'aws:SourceIp': '10.0.0.1' } } },
      "the twin's requests have no such key; use one of aws:RequestedRegion",
    ],
  ] as const)('of the kind %s is refused: %j', (kind, statement, message) => {
    expect(() => policyOf(kind, [statement])).toThrow(message);
  });
});
