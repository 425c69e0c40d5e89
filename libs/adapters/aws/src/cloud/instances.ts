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

/**
 * After so many denied ids of one piece, others that are denied together are not asked for one by
 * one any more. Then the right to terminate is missing, and not the tag of an instance.
 */
const denialsMax = 4;

/**
 * Instances of one page. Its XML is read in one turn of the event loop. A page of 200 held it for
 * 180 ms, measured. A smaller page trades calls, which are paced, for shorter turns.
 */
const instancesPerPage = 100;

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
      inPieces([...new Set(ids)], idsPerCall).map((piece) =>
        terminate(session, piece, { left: denialsMax }),
      ),
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
              MaxResults: instancesPerPage,
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
 * not know counts as terminated. IAM denies a whole call for one instance without our tag. Any
 * other error (throttling, outage) rejects: then the state of every id is unknown.
 */
async function terminate(
  session: AwsSession,
  ids: readonly string[],
  denials: { left: number },
): Promise<readonly RefusedTermination[]> {
  try {
    await session.calls.run('terminate', 'ec2:TerminateInstances', () =>
      session.client(EC2Client).send(new TerminateInstancesCommand({ InstanceIds: [...ids] })),
    );
    return [];
  } catch (error) {
    if (!(error instanceof CloudError) || !idErrors.has(error.code)) throw error;
    const isDenied = error.code === 'denied';
    if (ids.length > 1 && !(isDenied && denials.left <= 0))
      return isDenied
        ? terminateInTurn(session, ids, denials)
        : terminateSideBySide(session, ids, denials);
    if (isDenied && ids.length === 1) denials.left -= 1;
    const { awsCode, message } = error;
    return error.code === 'not-found' ? [] : ids.map((id) => ({ id, awsCode, message }));
  }
}

/** Errors that may concern one id only. */
const idErrors: ReadonlySet<CloudError['code']> = new Set([
  'not-found',
  'invalid-request',
  'denied',
]);

function halvesOf(ids: readonly string[]): readonly (readonly string[])[] {
  const middle = Math.ceil(ids.length / 2);
  return [ids.slice(0, middle), ids.slice(middle)].filter((half) => half.length > 0);
}

async function terminateSideBySide(
  session: AwsSession,
  ids: readonly string[],
  denials: { left: number },
): Promise<readonly RefusedTermination[]> {
  const halves = await Promise.all(halvesOf(ids).map((half) => terminate(session, half, denials)));
  return halves.flat();
}

/** The first halves show whether it is worth asking for the others. */
async function terminateInTurn(
  session: AwsSession,
  ids: readonly string[],
  denials: { left: number },
): Promise<readonly RefusedTermination[]> {
  const refused: RefusedTermination[] = [];
  for (const half of halvesOf(ids)) refused.push(...(await terminate(session, half, denials)));
  return refused;
}

function instanceOf(instance: Ec2Instance): Instance | undefined {
  const { InstanceId: id, State, Placement, LaunchTime } = instance;
  const state = State?.Name;
  if (id === undefined || state === undefined) return undefined;
  const profile = instance.IamInstanceProfile?.Arn?.split('/').at(-1);
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
    ...(profile === undefined ? {} : { profile }),
    tags: tagsOf(instance.Tags),
  };
}
