import { cluster, started } from './current-cluster.js';

/** The last instant that a date can hold: nothing can be added to it. */
export const farTime = '+275760-09-13T00:00:00Z';

/** A bus on which messages with this in their subject are taken and never confirmed. */
export const slowFor = (
  part: string,
  bus: ReturnType<typeof cluster.connect>,
  published: string[],
): ReturnType<typeof cluster.connect> =>
  new Proxy(bus, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      if (name !== 'publish') return member.bind(target) as unknown;
      return (message: { readonly subject: string }) => {
        published.push(message.subject);
        return message.subject.includes(part)
          ? new Promise(() => undefined)
          : (Reflect.apply(member, target, [message]) as unknown);
      };
    },
  });

export const spot = async (): Promise<{ readonly instanceId: string }> => {
  await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
  const made = await cluster.node('n1', { capacityType: 'spot' });
  await cluster.scale('web', 3);
  await cluster.pass(3);
  return made;
};

/** Bodies that mean nothing, and notices that no effect can follow. */
export const noise = (): readonly string[] => {
  const whole = JSON.parse(spotNotice('i-0123456789abcdef0')) as Readonly<Record<string, unknown>>;
  const changed = (change: object): string => JSON.stringify({ ...whole, ...change });
  const health = { source: 'aws.health', 'detail-type': 'AWS Health Event' };
  const scheduled = { service: 'EC2', eventTypeCategory: 'scheduledChange' };
  return [
    'null',
    '[]',
    '{',
    '"x"',
    changed({}),
    changed({ detail: null }),
    changed({ detail: { 'instance-id': 7 } }),
    changed({ detail: { 'instance-id': 'i-zz' } }),
    changed({ time: 'yesterday' }),
    changed({ time: '+275760-09-13T00:00:00Z' }),
    changed({ version: '9' }),
    changed({ account: null }),
    changed({
      ...health,
      detail: { ...scheduled, affectedEntities: [null, {}, { entityValue: 1 }] },
    }),
    changed({ ...health, detail: { ...scheduled, affectedEntities: 'all' } }),
    'x'.repeat(200_000),
  ];
};

export const endNotice = (instanceId: string): string =>
  JSON.stringify({
    ...(JSON.parse(spotNotice(instanceId)) as object),
    'detail-type': 'EC2 Instance State-change Notification',
    detail: { 'instance-id': instanceId, state: 'shutting-down' },
  });

export const spotNotice = (instanceId: string): string =>
  JSON.stringify({
    version: '0',
    id: 'one',
    'detail-type': 'EC2 Spot Instance Interruption Warning',
    source: 'aws.ec2',
    account: cluster.twin.account.accountId,
    region: 'us-west-2',
    time: new Date(cluster.clock.nowMs()).toISOString(),
    resources: [],
    detail: { 'instance-id': instanceId, 'instance-action': 'terminate' },
  });
