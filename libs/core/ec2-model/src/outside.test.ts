import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { classifyFleetError, parseInterruption, securityGroupFilters, subnetFilters } from './index.js';

const event = (source: string, detailType: string, detail: object, changes: object = {}) => JSON.stringify({
  version: '0', id: 'e-1', source, 'detail-type': detailType, account: '123456789012', region: 'us-east-1', time: '2026-11-21T14:00:00Z', resources: [], detail, ...changes });
const ec2 = (detailType: string, detail: object, changes?: object) => event('aws.ec2', detailType, detail, changes);
const id = 'i-0123456789abcdef0';

describe('interruption notices', () => {
  test.each([
    ['EC2 Spot Instance Interruption Warning',                          { 'instance-id': id, 'instance-action': 'terminate' }, 'spot-interrupted'],
    ['EC2 Instance Rebalance Recommendation',                           { 'instance-id': id },                                 'rebalance-recommended'],
    ['EC2 Capacity Reservation Instance Interruption Warning',          { 'instance-id': id, 'instance-action': 'terminate' }, 'reservation-interrupted'],
    ['EC2 Instance State-change Notification',                          { 'instance-id': id, state: 'stopping' },              'instance-stopping'],
    ['EC2 Instance State-change Notification',                          { 'instance-id': id, state: 'terminated' },            'instance-terminating'],
  ])('%s with %j is %s', (detailType, detail, kind) => expect(parseInterruption(ec2(detailType, detail)))
    .toMatchObject({ kind: 'notice', notice: { kind, instanceIds: [id], accountId: '123456789012', region: 'us-east-1', timeMs: Date.UTC(2026, 10, 21, 14) } }));

  test('a health event names many instances, each once, and what is no instance is left out', () => {
    const body = event('aws.health', 'AWS Health Event', { service: 'EC2', eventTypeCategory: 'scheduledChange', affectedEntities: [{ entityValue: id }, { entityValue: 'vol-1' }, { entityValue: id }, { entityValue: 'i-00000000' }, 7] });
    expect(parseInterruption(body)).toMatchObject({ kind: 'notice', notice: { kind: 'scheduled-change', instanceIds: ['i-00000000', id] } });
  });

  test.each([
    ['a starting instance',           ec2('EC2 Instance State-change Notification', { 'instance-id': id, state: 'running' }),                      'irrelevant'],
    ['another service’s health',      event('aws.health', 'AWS Health Event', { service: 'RDS', eventTypeCategory: 'scheduledChange' }),            'irrelevant'],
    ['a health event of no change',   event('aws.health', 'AWS Health Event', { service: 'EC2', eventTypeCategory: 'issue' }),                      'irrelevant'],
    ['another kind of event',         ec2('EC2 Volume Notification', {}),                                                                          'unknown'],
    ['a newer version of a known one', ec2('EC2 Instance Rebalance Recommendation', { 'instance-id': id }, { version: '1' }),                        'unknown'],
    ['text',                          'hello',                                                                                                     'malformed'],
    ['null',                          'null',                                                                                                      'malformed'],
    ['no account',                    ec2('EC2 Instance Rebalance Recommendation', { 'instance-id': id }, { account: undefined }),                  'malformed'],
    ['no time',                       ec2('EC2 Instance Rebalance Recommendation', { 'instance-id': id }, { time: 'soon' }),                        'malformed'],
    ['an id that is none',            ec2('EC2 Instance Rebalance Recommendation', { 'instance-id': 'node-1' }),                                    'malformed'],
    ['no detail',                     ec2('EC2 Instance Rebalance Recommendation', {}, { detail: undefined }),                                      'malformed'],
  ])('%s is %s', (_what, body, kind) => expect(parseInterruption(body as string).kind).toBe(kind));

  test('no body, however broken, throws', () => fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (body) => { parseInterruption(body); })));
});

describe('selector terms as EC2 filters', () => {
  test('ids share one call; each term of tags is a call of its own, its tags together', () => {
    expect(subnetFilters([{ id: 'subnet-2' }, { tags: { b: '*', a: 'x' } }, { id: 'subnet-1' }])).toEqual([
      [{ name: 'subnet-id', values: ['subnet-1', 'subnet-2'] }],
      [{ name: 'tag:a', values: ['x'] }, { name: 'tag:b', values: ['*'] }],
    ]);
  });
  test('security groups may be named', () => expect(securityGroupFilters([{ name: 'nodes' }, { id: 'sg-1' }, { name: 'web', tags: { a: 'x' } }])).toEqual([
    [{ name: 'group-id', values: ['sg-1'] }], [{ name: 'group-name', values: ['nodes'] }], [{ name: 'group-name', values: ['web'] }, { name: 'tag:a', values: ['x'] }]]));
  test('no terms, and empty ones, ask for nothing rather than for everything', () => expect([...subnetFilters([]), ...subnetFilters([{}, { tags: {} }])]).toEqual([]));
});

describe('AWS error codes', () => {
  test.each([
    ['InsufficientInstanceCapacity',                          'capacity-exhausted',      'offering'],
    ['UnfulfillableCapacity',                                 'capacity-exhausted',      'offering'],
    ['Unsupported',                                           'capacity-exhausted',      'offering'],
    ['InsufficientFreeAddressesInSubnet',                     'capacity-exhausted',      'subnet'],
    ['MaxSpotInstanceCountExceeded',                          'quota-exceeded',          'offering'],
    ['VcpuLimitExceeded',                                     'quota-exceeded',          'offering'],
    ['AuthFailure.ServiceLinkedRoleCreationNotPermitted',     'denied',                  'capacity-type'],
    ['UnauthorizedOperation',                                 'denied',                  'account'],
    ['RequestLimitExceeded',                                  'throttled',               'account'],
    ['IdempotentParameterMismatch',                           'token-mismatch',          'request'],
    ['InvalidLaunchTemplateName.NotFoundException',           'launch-template-missing', 'request'],
    ['InvalidInstanceID.NotFound',                            'not-found',               'request'],
    ['InvalidSubnetID.NotFound',                              'not-found',               'request'],
    ['InvalidParameterValue',                                 'invalid-request',         'request'],
    ['SomethingNew',                                          'invalid-request',         'request'],
  ])('%s means %s of the %s', (awsCode, code, scope) => expect(classifyFleetError(awsCode)).toEqual({ code, scope }));

  test.each([
    ['Your requested instance type (m9g.large) is not supported in your requested Availability Zone (us-west-2d).', 'capacity-exhausted', 'offering'],
    ['The fleet configuration contains duplicate instance pools.', 'invalid-request', 'request'],
  ])('InvalidFleetConfiguration, "%s", means %s of the %s', (message, code, scope) => expect(classifyFleetError('InvalidFleetConfiguration', message)).toEqual({ code, scope }));
});
