import { CreateTagsCommand, DescribeInstancesCommand, TerminateInstancesCommand, type Instance as Ec2Instance } from '@aws-sdk/client-ec2';
import type { Ec2Filter } from '@dovetail/core-ec2-model';
import { CloudError, type Cloud, type Instance } from '@dovetail/core-ports';
import type { AwsCalls } from '../calls.js';
import type { AwsClients } from '../clients.js';
import { allPages, inPieces } from '../paging.js';
import { filtersOf, filterValuesMax, tagList, tagsOf } from './discovery.js';

type Refusal = { readonly id: string; readonly awsCode: string; readonly message: string };
type Running = Pick<Cloud, 'instancesByTag' | 'instancesById' | 'terminate' | 'tagInstances'>;

/** One TerminateInstances or CreateTags names at most this many; EC2 takes 1,000. */
const idsPerCall = 500;

/** Instances: found, tagged, ended. */
export const runningOf = (clients: AwsClients, calls: AwsCalls): Running => ({
  instancesByTag: (filters) => describe(clients, calls, filters),
  // Through a filter, because among InstanceIds one that is missing would fail the call for all.
  async instancesById(ids) {
    const found = await Promise.all(inPieces([...new Set(ids)], filterValuesMax).map((values) => describe(clients, calls, [{ name: 'instance-id', values }])));
    return found.flat();
  },
  async terminate(ids) {
    const refused = await Promise.all(inPieces([...new Set(ids)], idsPerCall).map((piece) => terminate(clients, calls, piece)));
    return refused.flat();
  },
  async tagInstances(ids, tags) {
    await Promise.all(inPieces([...new Set(ids)], idsPerCall).map((Resources) =>
      calls.run('tag', 'ec2:CreateTags', () => clients.ec2.send(new CreateTagsCommand({ Resources: [...Resources], Tags: tagList(tags) })))));
  },
});

async function describe({ ec2 }: AwsClients, calls: AwsCalls, filters: readonly Ec2Filter[]): Promise<readonly Instance[]> {
  const reservations = await allPages(
    (NextToken) => calls.run('read', 'ec2:DescribeInstances', () => ec2.send(new DescribeInstancesCommand({ Filters: filtersOf(filters), MaxResults: 1000, NextToken }))),
    (page) => ({ items: page.Reservations, next: page.NextToken }),
  );
  return reservations.flatMap(({ Instances }) => (Instances ?? []).flatMap((instance) => instanceOf(instance) ?? []));
}

/**
 * Ends instances together. One bad id fails the whole call, so a call that fails for its ids is split in halves until
 * the bad ones stand alone; an id that EC2 does not know counts as ended. Other errors (throttling, rights, outage)
 * reject for all: nothing is known about any.
 */
async function terminate(clients: AwsClients, calls: AwsCalls, ids: readonly string[]): Promise<readonly Refusal[]> {
  try {
    await calls.run('terminate', 'ec2:TerminateInstances', () => clients.ec2.send(new TerminateInstancesCommand({ InstanceIds: [...ids] })));
    return [];
  } catch (error) {
    if (!(error instanceof CloudError) || !concernsIds(error)) throw error;
    const [only] = ids;
    if (ids.length > 1 || only === undefined) return terminateHalves(clients, calls, ids);
    return error.code === 'not-found' ? [] : [{ id: only, awsCode: error.awsCode, message: error.message }];
  }
}

async function terminateHalves(clients: AwsClients, calls: AwsCalls, ids: readonly string[]): Promise<readonly Refusal[]> {
  const middle = Math.ceil(ids.length / 2);
  const halves = await Promise.all([ids.slice(0, middle), ids.slice(middle)].filter((half) => half.length > 0).map((half) => terminate(clients, calls, half)));
  return halves.flat();
}

const concernsIds = (error: CloudError): boolean => error.code === 'not-found' || error.code === 'invalid-request';

function instanceOf(instance: Ec2Instance): Instance | undefined {
  const { InstanceId: id, State, Placement, LaunchTime } = instance;
  const state = State?.Name;
  if (id === undefined || state === undefined) return undefined;
  return {
    id, state,
    instanceType: instance.InstanceType ?? '',
    zone: Placement?.AvailabilityZone ?? '',
    // An open reservation may take in an ordinary instance; only a bought block is another way to pay.
    capacityType: instance.InstanceLifecycle === 'spot' ? 'spot' : instance.InstanceLifecycle === 'capacity-block' ? 'reserved' : 'on-demand',
    imageId: instance.ImageId ?? '',
    launchedMs: LaunchTime?.getTime() ?? 0,
    ...(instance.SubnetId === undefined ? {} : { subnetId: instance.SubnetId }),
    securityGroupIds: (instance.SecurityGroups ?? []).flatMap(({ GroupId }) => GroupId ?? []).sort(),
    ...(instance.PrivateDnsName === undefined || instance.PrivateDnsName === '' ? {} : { privateDnsName: instance.PrivateDnsName }),
    tags: tagsOf(instance.Tags),
  };
}
