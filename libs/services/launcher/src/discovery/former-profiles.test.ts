import { annotations, type NodeClaim } from '@dovetail/core-api';
import { claimValue, nodeClassValue } from '@dovetail/core-api/testing';
import { Cluster } from '@dovetail/core-cluster';
import { CloudError, type Instance, kubeResources } from '@dovetail/core-ports';
import { hash } from '@dovetail/sim-stage';
import { afterEach, describe, expect, test } from 'vitest';

import { type LauncherStage, launcherStage } from '../testing/launcher-stage.js';
import { FormerProfiles } from './former-profiles.js';
import { profileNameOf, profilePathOf } from './profile-name.js';

const minute = 60_000;
const place = { region: 'us-east-1', cluster: { identity: { name: 'lab', uid: 'lab-uid' } } };
const first = nodeClassValue('default', { role: 'first' });
const second = { ...first, role: 'second' };
const former = profileNameOf(first, place, hash);
const current = profileNameOf(second, place, hash);
const running = (id: string, profile: string | undefined): Instance => ({
  id,
  instanceType: 'm5.large',
  zone: 'us-east-1a',
  state: 'running',
  capacityType: 'on-demand',
  imageId: 'ami-1',
  launchedMs: 0,
  securityGroupIds: [],
  tags: {},
  ...(profile === undefined ? {} : { profile }),
});
const paired = claimValue('c', { annotations: { [annotations.instanceId]: 'i-1' } });

/** The profiles of a class that had another role, in an account with these instances. */
function account(instances: readonly Instance[], isDenied = false) {
  const names = new Map([
    [former, profilePathOf(first, place)],
    [current, profilePathOf(second, place)],
    ['lab_other', '/karpenter/us-east-1/lab/another-class/'],
  ]);
  const refused = new Set<string>();
  const cluster = new Cluster();
  const lines: string[] = [];
  const say = (_name: string, message: string): void => void lines.push(message);
  const time = { nowMs: 0 };
  const profiles = new FormerProfiles({
    clock: { nowMs: () => time.nowMs, sleep: () => Promise.resolve() },
    log: { debug: say, info: say, warn: say, error: say },
    hash,
    cluster,
    cloud: {
      instanceProfiles: (prefix) =>
        isDenied
          ? Promise.reject(new CloudError('denied', 'AccessDenied', 'no policy allows it'))
          : Promise.resolve([...names].flatMap(([name, path]) => (path === prefix ? name : []))),
      deleteInstanceProfile: (name) =>
        refused.has(name)
          ? Promise.reject(new CloudError('denied', 'DeleteConflict', 'it is in use'))
          : Promise.resolve(void names.delete(name)),
      instancesById: (ids) => Promise.resolve(instances.filter(({ id }) => ids.includes(id))),
    },
  });
  return { names, refused, cluster, lines, time, profiles, left: () => [...names.keys()] };
}

describe('the profile of a role that a class had before', () => {
  test.each<[string, NodeClaim | undefined, readonly Instance[], boolean]>([
    ['goes when the class has no claim', undefined, [], false],
    ['goes when its nodes run under another', paired, [running('i-1', current)], false],
    ['stays while a node runs under it', paired, [running('i-1', former)], true],
    ['stays while EC2 does not show an instance', paired, [], true],
    ['stays while a claim is to be launched', claimValue('c'), [], true],
  ])('%s', async (_sentence, claim, instances, stays) => {
    const { cluster, profiles, left } = account(instances);
    if (claim !== undefined) cluster.set('claim', claim);
    await profiles.sweep(second, place);
    expect(left()).toEqual([...(stays ? [former] : []), current, 'lab_other']);
  });

  test('is looked for every half hour', async () => {
    const instances = [running('i-1', former)];
    const { cluster, profiles, left, time } = account(instances);
    cluster.set('claim', paired);
    await profiles.sweep(second, place);
    cluster.delete('claim', paired.uid);
    time.nowMs = 29 * minute;
    await profiles.sweep(second, place);
    expect(left()).toContain(former);
    time.nowMs = 30 * minute;
    await profiles.sweep(second, place);
    expect(left()).not.toContain(former);
  });

  test('stays where the launcher may not list profiles, and a line says what to grant', async () => {
    const { profiles, left, lines } = account([], true);
    await profiles.sweep(second, place);
    expect(left()).toContain(former);
    expect(lines.join('\n')).toContain('grant iam:ListInstanceProfiles');
  });

  test('goes with its class, as does the present one', async () => {
    const { profiles, left } = account([]);
    await profiles.end(second, place);
    expect(left()).toEqual(['lab_other']);
  });

  test('that IAM refuses to delete keeps no other from its end', async () => {
    const { names, refused, profiles, left } = account([]);
    const third = profileNameOf({ ...first, role: 'third' }, place, hash);
    names.set(third, profilePathOf(first, place));
    refused.add(former);
    await expect(profiles.sweep(second, place)).rejects.toThrow('in use');
    expect(left()).toEqual([former, current, 'lab_other']);
  });

  test('does not keep its class where the launcher may not list profiles', async () => {
    const { profiles, left } = account([], true);
    await profiles.end(second, place);
    expect(left()).toEqual([former, 'lab_other']);
  });
});

let self: LauncherStage | undefined;
afterEach(() => self?.end());

test('the launcher deletes it, and the present one with the class', async () => {
  self = await launcherStage();
  const { twin, kube } = self;
  const roles = (): readonly string[] =>
    twin.iam
      .profiles('/karpenter/')
      .flatMap((profile) => profile.roles.map(({ name }) => name))
      .sort();
  const ref = { resource: kubeResources.ec2NodeClasses, name: 'default' };
  await self.readyPool();
  self.launcher('one');
  await self.planningPossible();
  twin.iam.putRole('second');
  await kube.patch(ref, { type: 'merge', body: { spec: { role: 'second' } } });
  await self.until('a profile of the new role', () => roles().includes('second'));
  expect(roles()).toEqual(['KarpenterNodeRole-lab', 'second']);
  await self.advance(32 * minute);
  expect(roles()).toEqual(['second']);
  await kube.delete(ref);
  await self.until('the class to go', async () => (await kube.get(ref)) === undefined);
  expect(roles()).toEqual([]);
});
