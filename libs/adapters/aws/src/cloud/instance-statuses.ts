import {
  DescribeInstanceStatusCommand,
  EC2Client,
  type InstanceStatus,
  type InstanceStatusSummary,
} from '@aws-sdk/client-ec2';
import {
  type Ec2Filter,
  type ImpairedInstance,
  type InstanceFinding,
  scheduledEventCodes,
} from '@dovetail/core-ec2-model';
import { compareText } from '@dovetail/core-kube-model';
import type { InstanceStatuses } from '@dovetail/core-ports';

import { allPages } from '../calls/paging.js';
import type { AwsSession } from '../calls/session.js';
import { filtersOf } from '../calls/tags.js';

/** EC2 joins the filters of one call with `and`, so each cause needs a call. */
const causes: readonly Ec2Filter[] = [
  { name: 'instance-status.status', values: ['impaired'] },
  { name: 'system-status.status', values: ['impaired'] },
  { name: 'event.code', values: scheduledEventCodes },
];

/** The status checks and scheduled events of the region's instances. */
export const awsInstanceStatuses = (session: AwsSession): InstanceStatuses => ({
  async impairedInstances() {
    const found = await Promise.all(causes.map((cause) => describe(session, cause)));
    const byId = new Map(found.flat().map((status) => [status.InstanceId, status]));
    return [...byId.values()]
      .flatMap((status) => impairedOf(status) ?? [])
      .sort((a, b) => compareText(a.id, b.id));
  },
});

const describe = (session: AwsSession, cause: Ec2Filter): Promise<readonly InstanceStatus[]> =>
  allPages(
    (NextToken) =>
      session.calls.run('read', 'ec2:DescribeInstanceStatus', () =>
        session
          .client(EC2Client)
          .send(
            new DescribeInstanceStatusCommand({
              Filters: filtersOf([cause]),
              MaxResults: 1000,
              NextToken,
            }),
          ),
      ),
    (page) => ({ items: page.InstanceStatuses, next: page.NextToken }),
  );

function impairedOf(status: InstanceStatus): ImpairedInstance | undefined {
  const { InstanceId: id } = status;
  if (id === undefined) return undefined;
  const findings = [
    ...failed('instance-check', status.InstanceStatus),
    ...failed('system-check', status.SystemStatus),
    ...eventsOf(status),
  ];
  return findings.length === 0 ? undefined : { id, findings };
}

/** A check that failed at an unknown time is left out: it may have failed this second. */
const failed = (
  kind: 'instance-check' | 'system-check',
  summary: InstanceStatusSummary | undefined,
): readonly InstanceFinding[] =>
  (summary?.Details ?? []).flatMap(({ Status, ImpairedSince }) =>
    Status === 'failed' && ImpairedSince !== undefined
      ? [{ kind, sinceMs: ImpairedSince.getTime() }]
      : [],
  );

/** EC2 shows an event for up to a week after its end, and says so in the description. */
const isOver = (description: string | undefined): boolean =>
  /^\[(Completed|Canceled)\]/.test(description ?? '');

const eventsOf = ({ Events }: InstanceStatus): readonly InstanceFinding[] =>
  (Events ?? []).flatMap(({ Code, Description }) =>
    Code !== undefined && scheduledEventCodes.includes(Code) && !isOver(Description)
      ? [{ kind: 'event', code: Code }]
      : [],
  );
