import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { parseInterruption } from '@dovetail/core-ec2-model';
import {
  accountFor,
  accountPolicy,
  contextOf,
  decide,
  type Notice,
  noticeJson,
  parsePolicy,
} from '@dovetail/sim-cloud';
import { evaluatedStack, policyText, type Stack } from '@dovetail/test-support/stack';
import { withPolicies } from '@dovetail/tools/stack-policies';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

/** Tests deploy/aws: the CloudFormation template, evaluated, and the files beside it. */
const root = join(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const template = read('deploy/aws/cloudformation.yaml');

const region = 'us-east-1';
const account = accountFor(region, { clusterName: 'lab', zones: ['a'] });
const { accountId } = account;
const oidcProvider = 'oidc.eks.us-east-1.amazonaws.com/id/0123';
const stackWith = (parameters: Readonly<Record<string, string>> = {}): Stack =>
  evaluatedStack(template, {
    region,
    accountId,
    parameters: { ClusterName: 'lab', NodeRoleName: 'KarpenterNodeRole-lab', ...parameters },
  });
const stack = stackWith();
const services = [
  ['Launcher', 'launcher'],
  ['Reaper', 'reaper'],
] as const;

describe('the policies of the stack', () => {
  test('are those of deploy/iam, word for word', () => {
    expect(withPolicies(template, (name) => read(`deploy/iam/${name}.json`))).toBe(template);
    for (const name of ['launcher', 'reaper', 'trust-irsa', 'trust-pod-identity'])
      expect(template).toContain(`# deploy/iam/${name}.json`);
  });

  test.each(services)('%s: the cloud twin reads it as the policy it tests', (id, service) => {
    const inStack = { ...account, queueName: 'InterruptionQueue' };
    expect(parsePolicy(policyText(stack, `${id}Policy`, 'PolicyDocument'))).toEqual(
      accountPolicy(read(`deploy/iam/${service}.json`), inStack),
    );
    expect(stack.resources[`${id}Role`]?.properties['ManagedPolicyArns']).toEqual([`${id}Policy`]);
  });

  test.each(services.map(([id]) => id))('%s: it fits into a managed policy', (id) => {
    const text = policyText(
      stackWith({ ClusterName: 'c'.repeat(100) }),
      `${id}Policy`,
      'PolicyDocument',
    );
    // IAM counts the characters of a managed policy without white space.
    expect(text.replaceAll(/\s/g, '').length).toBeLessThanOrEqual(6_144);
  });
});

describe('the trust in the roles', () => {
  const cluster = `arn:aws:eks:${region}:${accountId}:cluster/lab`;
  const pod = (cluster: string, namespace: string, name: string) => ({
    action: 'sts:AssumeRole',
    principal: 'Service:pods.eks.amazonaws.com',
    facts: {
      requestTags: {
        'eks-cluster-arn': cluster,
        'kubernetes-namespace': namespace,
        'kubernetes-service-account': name,
      },
    },
  });
  const token = (provider: string, sub: string, aud = 'sts.amazonaws.com') => ({
    action: 'sts:AssumeRoleWithWebIdentity',
    principal: `Federated:arn:aws:iam::${accountId}:oidc-provider/${provider}`,
    facts: { others: { [`${oidcProvider}:sub`]: sub, [`${oidcProvider}:aud`]: aud } },
  });
  const decided = (
    made: Stack,
    role: string,
    { action, principal, facts }: ReturnType<typeof pod> | ReturnType<typeof token>,
  ): string =>
    decide([parsePolicy(policyText(made, role, 'AssumeRolePolicyDocument'), 'trust')], {
      action,
      principal,
      resource: '*',
      context: contextOf({ region, ...facts }),
    }).kind;

  test.each(services)(
    '%s, by Pod Identity: only its own account of this cluster',
    (id, service) => {
      const other = service === 'launcher' ? 'reaper' : 'launcher';
      const asked = [
        pod(cluster, 'dovetail', `dovetail-${service}`),
        { ...pod(cluster, 'dovetail', `dovetail-${service}`), action: 'sts:TagSession' },
        pod(cluster, 'dovetail', `dovetail-${other}`),
        pod(cluster, 'default', `dovetail-${service}`),
        pod(`${cluster}-2`, 'dovetail', `dovetail-${service}`),
        {
          ...pod(cluster, 'dovetail', `dovetail-${service}`),
          principal: 'Service:ec2.amazonaws.com',
        },
        token(oidcProvider, `system:serviceaccount:dovetail:dovetail-${service}`),
      ];
      const allowed = ['allow', 'allow', ...Array.from({ length: 5 }, () => 'implicit-deny')];
      expect(asked.map((each) => decided(stack, `${id}Role`, each))).toEqual(allowed);
      expect(stack.resources[`${id}Identity`]).toEqual({
        type: 'AWS::EKS::PodIdentityAssociation',
        properties: {
          ClusterName: 'lab',
          Namespace: 'dovetail',
          ServiceAccount: `dovetail-${service}`,
          RoleArn: `arn:aws:iam::${accountId}:role/${id}Role`,
        },
      });
    },
  );

  test.each(services)('%s, by IRSA: only the token of its own account', (id, service) => {
    const made = stackWith({ OidcProvider: oidcProvider, Namespace: 'nodes' });
    const other = service === 'launcher' ? 'reaper' : 'launcher';
    const own = `system:serviceaccount:nodes:dovetail-${service}`;
    const asked = [
      token(oidcProvider, own),
      token(oidcProvider, `system:serviceaccount:nodes:dovetail-${other}`),
      token(oidcProvider, `system:serviceaccount:default:dovetail-${service}`),
      token(oidcProvider, own, 'kubernetes.default.svc'),
      token(oidcProvider.replace('0123', '4567'), own),
      pod(cluster, 'nodes', `dovetail-${service}`),
    ];
    const allowed = ['allow', ...Array.from({ length: 5 }, () => 'implicit-deny')];
    expect(asked.map((each) => decided(made, `${id}Role`, each))).toEqual(allowed);
    expect(made.resources[`${id}Identity`]).toBeUndefined();
  });

  test('EC2 alone gives instances the role of the nodes', () => {
    const trust = parsePolicy(policyText(stack, 'NodeRole', 'AssumeRolePolicyDocument'), 'trust');
    const kinds = ['Service:ec2.amazonaws.com', 'Service:pods.eks.amazonaws.com'].map(
      (principal) =>
        decide([trust], {
          action: 'sts:AssumeRole',
          principal,
          resource: '*',
          context: contextOf({ region }),
        }).kind,
    );
    expect(kinds).toEqual(['allow', 'implicit-deny']);
  });
});

type Pattern = Readonly<Record<string, unknown>>;
const rules = Object.entries(stack.resources).filter(
  ([, { type }]) => type === 'AWS::Events::Rule',
);

/** EventBridge's rule for patterns of lists of values: each field must have one of its values. */
function isMatched(pattern: Pattern, event: Pattern): boolean {
  return Object.entries(pattern).every(([field, wanted]) =>
    Array.isArray(wanted)
      ? wanted.includes(event[field])
      : isMatched(wanted as Pattern, (event[field] ?? {}) as Pattern),
  );
}

describe('notices of interruptions', () => {
  const queueArn = `arn:aws:sqs:${region}:${accountId}:InterruptionQueue`;
  const policy = parsePolicy(
    policyText(stack, 'InterruptionQueuePolicy', 'PolicyDocument'),
    'resource',
  );
  const instanceId = 'i-0123456789abcdef0';
  const notices: readonly (readonly [Notice, string])[] = [
    [{ kind: 'spot-interruption', instanceId }, 'SpotInterruptionRule'],
    [{ kind: 'rebalance', instanceId }, 'RebalanceRule'],
    [{ kind: 'state-change', instanceId, state: 'stopping' }, 'StateChangeRule'],
    [{ kind: 'state-change', instanceId, state: 'shutting-down' }, 'StateChangeRule'],
    [{ kind: 'capacity-reservation-interruption', instanceId }, 'ReservationInterruptionRule'],
    [{ kind: 'scheduled-change', instanceIds: [instanceId] }, 'ScheduledChangeRule'],
  ];
  const sent = (notice: Notice): string =>
    noticeJson(notice, { accountId, region, nowMs: 1_700_000_000_000, id: 'event' });

  test.each(notices)(
    '%j reaches the queue by one rule, and the reaper reads it',
    (notice, rule) => {
      const body = sent(notice);
      const event = JSON.parse(body) as Pattern;
      const by = rules.filter(([, { properties }]) =>
        isMatched(properties['EventPattern'] as Pattern, event),
      );
      expect(by.map(([id]) => id)).toEqual([rule]);
      expect(parseInterruption(body).kind).toBe('notice');
      expect(by[0]?.[1].properties['Targets']).toEqual([
        { Id: 'InterruptionQueue', Arn: queueArn },
      ]);
    },
  );

  test('a start of an instance, which needs no action, is not sent at all', () => {
    const event = JSON.parse(
      sent({ kind: 'state-change', instanceId, state: 'running' }),
    ) as Pattern;
    expect(
      rules.filter(([, { properties }]) => isMatched(properties['EventPattern'] as Pattern, event)),
    ).toEqual([]);
  });

  test('the rules are those of events.json, which Terraform reads', () => {
    const events = JSON.parse(read('deploy/aws/events.json')) as Readonly<Record<string, Pattern>>;
    expect(rules.map(([, { properties }]) => properties['EventPattern'])).toEqual(
      Object.values(events),
    );
  });

  test.each<[string, Readonly<Record<string, string>>, string, string]>([
    ['a rule of this stack', {}, 'Service:events.amazonaws.com', 'allow'],
    [
      'another rule of the account',
      { 'aws:SourceArn': `arn:aws:events:${region}:${accountId}:rule/other` },
      'Service:events.amazonaws.com',
      'implicit-deny',
    ],
    [
      'an account that is not this one',
      { 'aws:SourceAccount': '999999999999' },
      'Service:events.amazonaws.com',
      'implicit-deny',
    ],
    ['SQS itself', {}, 'Service:sqs.amazonaws.com', 'implicit-deny'],
    [
      'a rule without TLS',
      { 'aws:SecureTransport': 'false' },
      'Service:events.amazonaws.com',
      'explicit-deny',
    ],
  ])('%s may send as the policy says: %j %s %s', (_who, others, principal, kind) => {
    const decisions = rules.map(
      ([id]) =>
        decide([policy], {
          action: 'sqs:SendMessage',
          resource: queueArn,
          principal,
          context: contextOf({
            region,
            others: {
              'aws:SourceArn': `arn:aws:events:${region}:${accountId}:rule/${id}`,
              'aws:SourceAccount': accountId,
              'aws:SecureTransport': 'true',
              ...others,
            },
          }),
        }).kind,
    );
    expect(decisions).toEqual(rules.map(() => kind));
  });
});

test('CoreDNS stands on the node group of eksctl.yaml, which Dovetail does not manage', () => {
  type Addon = { readonly name: string; readonly configurationValues?: string };
  const { addons, managedNodeGroups } = parse(read('deploy/aws/eksctl.yaml')) as {
    readonly addons: readonly Addon[];
    readonly managedNodeGroups: readonly { readonly name: string }[];
  };
  const dns = addons.find(({ name }) => name === 'coredns');
  expect(JSON.parse(dns?.configurationValues ?? '{}')).toMatchObject({
    nodeSelector: { 'eks.amazonaws.com/nodegroup': managedNodeGroups[0]?.name },
  });
});

describe('what the parameters choose', () => {
  const has = (parameters: Readonly<Record<string, string>>, id: string): boolean =>
    stackWith(parameters).resources[id] !== undefined;
  test.each([
    ['NodeAccessEntry', {}, { AccessEntry: 'false' }],
    ['NodeInstanceProfile', { InstanceProfile: 'true' }, {}],
    ['SpotRole', { SpotServiceLinkedRole: 'true' }, {}],
    ['LauncherIdentity', {}, { OidcProvider: oidcProvider }],
  ] as const)('%s is made with %j and not with %j', (id, withIt, without) => {
    expect([has(withIt, id), has(without, id)]).toEqual([true, false]);
  });
  test('the role of Spot, which all clusters of the account use, stays when the stack goes', () =>
    expect(template).toMatch(/^ {2}SpotRole:\n(?: {4}.*\n)* {4}DeletionPolicy: Retain\n/m));
  test('a role of a name of its own is the one that the launcher hands to instances', () => {
    expect(
      policyText(stackWith({ NodeRoleName: '' }), 'LauncherPolicy', 'PolicyDocument'),
    ).toContain(`"arn:aws:iam::${accountId}:role/NodeRole"`);
  });
  test('a queue of a name of its own is the one that the reaper may read and the chart is given', () => {
    const named = stackWith({ QueueName: 'my-cluster' });
    expect(named.outputs['InterruptionQueue']).toBe('my-cluster');
    expect(policyText(named, 'ReaperPolicy', 'PolicyDocument')).toContain(
      `"arn:aws:sqs:${region}:${accountId}:my-cluster"`,
    );
    expect(named.resources['InterruptionQueue']?.properties).toMatchObject({
      QueueName: 'my-cluster',
    });
    expect(stack.resources['InterruptionQueue']?.properties).not.toHaveProperty('QueueName');
  });
  test('the outputs are what the chart and the classes need', () => {
    expect(stack.outputs).toEqual({
      NodeRole: 'KarpenterNodeRole-lab',
      LauncherRole: `arn:aws:iam::${accountId}:role/LauncherRole`,
      ReaperRole: `arn:aws:iam::${accountId}:role/ReaperRole`,
      InterruptionQueue: 'InterruptionQueue',
    });
  });
});
