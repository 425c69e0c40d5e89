import {
  type ImpairedInstance,
  type InstanceFinding,
  scheduledEventCodes,
} from '@dovetail/core-ec2-model';
import type {
  Ec2Filter,
  Instance,
  Instances,
  InstanceStatuses,
  InstanceTags,
  Terminations,
} from '@dovetail/core-ports';

import { AwsFault } from '../foundation/aws-fault.js';
import type { CloudTwin, TwinInstance } from '../twin/cloud-twin.js';
import type { Run } from './runner.js';

function instanceOf(instance: TwinInstance): Instance {
  const {
    id,
    instanceType,
    zone,
    state,
    capacityType,
    imageId,
    launchedMs,
    subnetId,
    securityGroupIds,
    tags,
  } = instance;
  const gone = state === 'terminated';
  const profile = instance.profileArn?.split('/').at(-1);
  return {
    id,
    instanceType,
    zone,
    state,
    capacityType,
    imageId,
    launchedMs,
    securityGroupIds,
    tags,
    ...(profile === undefined ? {} : { profile }),
    ...(gone ? {} : { subnetId, privateDnsName: instance.privateDnsName }),
  };
}

type Refusal = { readonly id: string; readonly awsCode: string; readonly message: string };

/** Ends one instance. Undefined when it ends, or is already gone. */
function terminateOne(twin: CloudTwin, run: Run, id: string): Promise<Refusal | undefined> {
  return run('ec2:TerminateInstances', () => {
    try {
      twin.instances.terminate([id]);
      return undefined;
    } catch (error) {
      if (!(error instanceof AwsFault)) throw error;
      return error.code === 'InvalidInstanceID.NotFound'
        ? undefined
        : { id, awsCode: error.code, message: error.message };
    }
  });
}

/** Ends all of them in one call; false when EC2 refuses the batch. */
function terminateAll(twin: CloudTwin, ids: readonly string[]): boolean {
  try {
    twin.instances.terminate(ids);
    return true;
  } catch (error) {
    if (error instanceof AwsFault) return false;
    throw error;
  }
}

async function terminate(
  twin: CloudTwin,
  run: Run,
  ids: readonly string[],
): Promise<readonly Refusal[]> {
  if (ids.length === 0) return [];
  const ended = await run('ec2:TerminateInstances', () => terminateAll(twin, ids), ids.length);
  if (ended) return [];
  const refused = [];
  // One bad id spoils the batch, so each is tried alone.
  for (const id of ids) refused.push(await terminateOne(twin, run, id));
  return refused.filter((one) => one !== undefined);
}

function impairedOf({ id, health, scheduledEvents }: TwinInstance): readonly ImpairedInstance[] {
  const { sinceMs } = health;
  const findings: readonly InstanceFinding[] = [
    ...(health.instance === 'impaired' ? [{ kind: 'instance-check', sinceMs } as const] : []),
    ...(health.system === 'impaired' ? [{ kind: 'system-check', sinceMs } as const] : []),
    ...scheduledEvents
      .filter(({ code }) => scheduledEventCodes.includes(code))
      .map(({ code }) => ({ kind: 'event', code }) as const),
  ];
  return findings.length === 0 ? [] : [{ id, findings }];
}

/** Reads, ends and tags instances. */
export function instancesOf(
  twin: CloudTwin,
  run: Run,
): Instances & InstanceStatuses & Terminations & InstanceTags {
  const describe = (filters: readonly Ec2Filter[]): Promise<readonly Instance[]> =>
    run('ec2:DescribeInstances', () => twin.instances.describe({ filters }).map(instanceOf));
  return {
    instancesByTag: describe,
    async instancesById(ids) {
      const found: Instance[] = [];
      // By filter, so that a missing id hides no other. EC2 takes 200 filter values at a time.
      for (let from = 0; from < ids.length; from += 200) {
        const values = ids.slice(from, from + 200);
        found.push(...(await describe([{ name: 'instance-id', values }])));
      }
      return found;
    },
    impairedInstances: () =>
      run('ec2:DescribeInstanceStatus', () =>
        twin.instances
          .describe({ filters: [{ name: 'instance-state-name', values: ['running'] }] })
          .flatMap(impairedOf),
      ),
    terminate: (ids) => terminate(twin, run, ids),
    tagInstances: (ids, tags) => run('ec2:CreateTags', () => twin.tag(ids, tags)),
  };
}
