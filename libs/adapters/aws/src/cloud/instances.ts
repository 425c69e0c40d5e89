import {
  CreateTagsCommand,
  DescribeInstancesCommand,
  EC2Client,
  type Instance as Ec2Instance,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import type { Ec2Filter } from '@dovetail/core-ec2-model';
import {
  CloudError,
  type Instance,
  type Instances,
  type InstanceTags,
  type RefusedTermination,
  type Terminations,
} from '@dovetail/core-ports';

import { allPages, inPieces } from '../calls/paging.js';
import type { AwsSession } from '../calls/session.js';
import { filtersOf, filterValuesMax, tagList, tagsOf } from '../calls/tags.js';

/**
 * Ids in one TerminateInstances or CreateTags. EC2 takes 1,000; a call that fails for one id is
 * halved, so fewer is cheaper.
 */
const idsPerCall = 500;

/** Instances of the account: find, tag and terminate them. */
export const awsInstances = (session: AwsSession): Instances & InstanceTags & Terminations => ({
  instancesByTag: (filters) => describe(session, filters),
  // Ids go into a filter, because one missing id in InstanceIds would fail the whole call.
  async instancesById(ids) {
    const found = await Promise.all(
      inPieces([...new Set(ids)], filterValuesMax).map((values) =>
        describe(session, [{ name: 'instance-id', values }]),
      ),
    );
    return found.flat();
  },
  async terminate(ids) {
    const refused = await Promise.all(
      inPieces([...new Set(ids)], idsPerCall).map((piece) => terminate(session, piece)),
    );
    return refused.flat();
  },
  async tagInstances(ids, tags) {
    await Promise.all(
      inPieces([...new Set(ids)], idsPerCall).map((Resources) =>
        session.calls.run('tag', 'ec2:CreateTags', () =>
          session
            .client(EC2Client)
            .send(new CreateTagsCommand({ Resources: [...Resources], Tags: tagList(tags) })),
        ),
      ),
    );
  },
});

async function describe(
  session: AwsSession,
  filters: readonly Ec2Filter[],
): Promise<readonly Instance[]> {
  const reservations = await allPages(
    (NextToken) =>
      session.calls.run('read', 'ec2:DescribeInstances', () =>
        session
          .client(EC2Client)
          .send(
            new DescribeInstancesCommand({
              Filters: filtersOf(filters),
              MaxResults: 1000,
              NextToken,
            }),
          ),
      ),
    (page) => ({ items: page.Reservations, next: page.NextToken }),
  );
  return reservations.flatMap(({ Instances }) =>
    (Instances ?? []).flatMap((instance) => instanceOf(instance) ?? []),
  );
}

/**
 * Terminates instances together, and returns the ids that EC2 refused. One bad id fails the whole
 * call, so a call that fails for its ids is halved until each bad id is alone. An id that EC2 does
 * not know counts as terminated. Any other error (throttling, rights, outage) rejects: then the
 * state of every id is unknown.
 */
async function terminate(
  session: AwsSession,
  ids: readonly string[],
): Promise<readonly RefusedTermination[]> {
  try {
    await session.calls.run('terminate', 'ec2:TerminateInstances', () =>
      session.client(EC2Client).send(new TerminateInstancesCommand({ InstanceIds: [...ids] })),
    );
    return [];
  } catch (error) {
    if (!(error instanceof CloudError) || !concernsIds(error)) throw error;
    const [only] = ids;
    if (ids.length > 1 || only === undefined) return terminateHalves(session, ids);
    return error.code === 'not-found'
      ? []
      : [{ id: only, awsCode: error.awsCode, message: error.message }];
  }
}

async function terminateHalves(
  session: AwsSession,
  ids: readonly string[],
): Promise<readonly RefusedTermination[]> {
  const middle = Math.ceil(ids.length / 2);
  const halves = await Promise.all(
    [ids.slice(0, middle), ids.slice(middle)]
      .filter((half) => half.length > 0)
      .map((half) => terminate(session, half)),
  );
  return halves.flat();
}

const concernsIds = (error: CloudError): boolean =>
  error.code === 'not-found' || error.code === 'invalid-request';

function instanceOf(instance: Ec2Instance): Instance | undefined {
  const { InstanceId: id, State, Placement, LaunchTime } = instance;
  const state = State?.Name;
  if (id === undefined || state === undefined) return undefined;
  return {
    id,
    state,
    instanceType: instance.InstanceType ?? '',
    zone: Placement?.AvailabilityZone ?? '',
    // An open capacity reservation may hold an ordinary instance. Only a capacity block is paid
    // differently.
    capacityType:
      instance.InstanceLifecycle === 'spot'
        ? 'spot'
        : instance.InstanceLifecycle === 'capacity-block'
          ? 'reserved'
          : 'on-demand',
    imageId: instance.ImageId ?? '',
    launchedMs: LaunchTime?.getTime() ?? 0,
    ...(instance.SubnetId === undefined ? {} : { subnetId: instance.SubnetId }),
    securityGroupIds: (instance.SecurityGroups ?? [])
      .flatMap(({ GroupId }) => GroupId ?? [])
      .sort(),
    ...(instance.PrivateDnsName === undefined || instance.PrivateDnsName === ''
      ? {}
      : { privateDnsName: instance.PrivateDnsName }),
    tags: tagsOf(instance.Tags),
  };
}
