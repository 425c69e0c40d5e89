import { uuidOf } from '../foundation/digest.js';

/**
 * A notice that EventBridge puts into the queue about an instance, in the kinds that interruption
 * handling knows.
 */
export type Notice =
  | { readonly kind: 'spot-interruption'; readonly instanceId: string }
  | { readonly kind: 'rebalance'; readonly instanceId: string }
  | { readonly kind: 'state-change'; readonly instanceId: string; readonly state: string }
  | { readonly kind: 'capacity-reservation-interruption'; readonly instanceId: string }
  | {
      readonly kind: 'scheduled-change';
      readonly instanceIds: readonly string[];
      readonly eventTypeCode?: string;
    };

type Envelope = {
  readonly detailType: string;
  readonly source: string;
  readonly resources: readonly string[];
  readonly detail: unknown;
};

function healthDetail(
  notice: { readonly instanceIds: readonly string[]; readonly eventTypeCode?: string },
  about: { readonly accountId: string; readonly region: string; readonly nowMs: number },
): unknown {
  const startMs = about.nowMs + 14 * 86_400_000;
  const code = notice.eventTypeCode ?? 'AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED';
  return {
    eventArn: `arn:aws:health:${about.region}::event/EC2/${code}/${uuidOf(code, ...notice.instanceIds)}`,
    service: 'EC2',
    eventTypeCode: code,
    eventTypeCategory: 'scheduledChange',
    eventScopeCode: 'ACCOUNT_SPECIFIC',
    statusCode: 'upcoming',
    startTime: new Date(startMs).toUTCString(),
    eventRegion: about.region,
    affectedAccount: about.accountId,
    eventDescription: [
      {
        language: 'en_US',
        latestDescription: 'One or more of your instances are scheduled for a change.',
      },
    ],
    affectedEntities: notice.instanceIds.map((entityValue) => ({ entityValue })),
  };
}

function envelopeOf(
  notice: Notice,
  about: { readonly accountId: string; readonly region: string; readonly nowMs: number },
): Envelope {
  const arn = (id: string): string =>
    `arn:aws:ec2:${about.region}:${about.accountId}:instance/${id}`;
  const ec2 = (
    detailType: string,
    id: string,
    more: Readonly<Record<string, string>>,
  ): Envelope => ({
    detailType,
    source: 'aws.ec2',
    resources: [arn(id)],
    detail: { 'instance-id': id, ...more },
  });
  switch (notice.kind) {
    case 'spot-interruption':
      return ec2('EC2 Spot Instance Interruption Warning', notice.instanceId, {
        'instance-action': 'terminate',
      });
    case 'rebalance':
      return ec2('EC2 Instance Rebalance Recommendation', notice.instanceId, {});
    case 'state-change':
      return ec2('EC2 Instance State-change Notification', notice.instanceId, {
        state: notice.state,
      });
    case 'capacity-reservation-interruption':
      return ec2('EC2 Capacity Reservation Instance Interruption Warning', notice.instanceId, {
        'instance-action': 'terminate',
      });
    case 'scheduled-change':
      return {
        detailType: 'AWS Health Event',
        source: 'aws.health',
        resources: [...notice.instanceIds],
        detail: healthDetail(notice, about),
      };
  }
}

/** The JSON text of a notice as EventBridge delivers it to a queue (schema version 0). */
export function noticeJson(
  notice: Notice,
  about: {
    readonly accountId: string;
    readonly region: string;
    readonly nowMs: number;
    readonly id: string;
  },
): string {
  const { detailType, source, resources, detail } = envelopeOf(notice, about);
  const time = `${new Date(about.nowMs).toISOString().slice(0, 19)}Z`;
  return JSON.stringify({
    version: '0',
    id: about.id,
    'detail-type': detailType,
    source,
    account: about.accountId,
    time,
    region: about.region,
    resources,
    detail,
  });
}
