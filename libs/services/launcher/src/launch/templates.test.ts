import { tags } from '@dovetail/core-api';
import { nodeClassValue } from '@dovetail/core-api/testing';
import { Cluster } from '@dovetail/core-cluster';
import { launchTemplatePrefix, type LaunchTemplateSpec } from '@dovetail/core-ec2-model';
import { type Clock, CloudError, type LaunchTemplates, noVitals } from '@dovetail/core-ports';
import { virtualClock } from '@dovetail/sim-clock';
import { hash } from '@dovetail/sim-stage';
import { expect, test } from 'vitest';

import { Templates } from './templates.js';
import { UnpairedClaims } from './unpaired-claims.js';

const quiet = (): void => undefined;

/** Templates of a cluster, with what EC2 does with them, and what is said of it. */
function templatesOf(clock: Clock, cloud: Partial<LaunchTemplates> = {}) {
  const cluster = new Cluster();
  const said: string[] = [];
  /** The sizes of user data that the metrics show, by class. */
  const sizes = new Map<string, number>();
  const templates = new Templates({
    cloud: {
      launchTemplates: () => Promise.resolve([]),
      ensureLaunchTemplate: () => Promise.resolve(false),
      deleteLaunchTemplate: () => Promise.resolve(),
      ...cloud,
    },
    clock,
    log: { debug: quiet, info: (_event, message) => said.push(message), warn: quiet, error: quiet },
    metrics: {
      set: (_name, value, { nodeclass = '' } = {}) => void sizes.set(nodeclass, value),
      remove: (_name, { nodeclass = '' } = {}) => void sizes.delete(nodeclass),
    },
    vitals: noVitals,
    cluster,
    unpaired: new UnpairedClaims(cluster, hash.sha256Hex),
    clusterName: 'lab',
    idleMs: 60_000,
  });
  return { templates, said, sizes, cluster };
}

test('the content of a template is remembered until it has been idle, and its user data with it', async () => {
  const clock = virtualClock(0);
  /** Whether EC2 made the template of each call. */
  const made = [true, false];
  const { templates, said } = templatesOf(clock, {
    ensureLaunchTemplate: () => Promise.resolve(made.shift() ?? false),
  });
  const spec = { name: 'dovetail/1', tags: {} } as unknown as LaunchTemplateSpec;
  const isKnown = (): Promise<boolean> => templates.ensure([spec.name], { anew: false });
  templates.learn([spec]);
  await clock.advance(59_000);
  await templates.sweep();
  expect(await isKnown()).toBe(true);
  expect(await templates.ensure([spec.name], { anew: true })).toBe(true);
  // The second call found it there.
  expect(said).toEqual(['Created launch template dovetail/1']);
  await clock.advance(61_000);
  await templates.sweep();
  expect(await isKnown()).toBe(false);
});

test('a template that EC2 refuses to delete keeps no other from its end', async () => {
  const made = (name: string) => ({
    name: `${launchTemplatePrefix}${name}`,
    createdMs: 0,
    tags: { [tags.nodeClass]: 'gone' },
  });
  const deleted: string[] = [];
  const { templates } = templatesOf(virtualClock(0), {
    launchTemplates: () => Promise.resolve(['1', '2', '3'].map(made)),
    deleteLaunchTemplate: (name) => {
      if (name.endsWith('1')) return Promise.reject(new CloudError('denied', 'Denied', 'no'));
      return Promise.resolve(void deleted.push(name));
    },
  });
  await expect(templates.sweep()).rejects.toThrow('no');
  expect(deleted).toEqual(['2', '3'].map((name) => `${launchTemplatePrefix}${name}`));
});

test.each([
  ['', 0],
  ['#!', 2],
  ['#!/', 3],
  ['#!/b', 4],
  ['x'.repeat(20_000), 20_000],
])('user data %j of a class is shown as %d bytes until the class is gone', async (text, bytes) => {
  const { templates, sizes, cluster } = templatesOf(virtualClock(0), {
    ensureLaunchTemplate: () => Promise.reject(new CloudError('invalid-request', 'Large', 'no')),
  });
  cluster.set('nodeclass', nodeClassValue('default'));
  const userDataBase64 = Buffer.from(text).toString('base64');
  const own = { [tags.nodeClass]: 'default' };
  const spec = { name: 'dovetail/1', tags: own, userDataBase64 } as unknown as LaunchTemplateSpec;
  templates.learn([spec]);
  // EC2 refuses what is too large, and it is shown all the same.
  await templates.ensure([spec.name], { anew: false }).catch(() => undefined);
  await templates.sweep();
  expect(sizes).toEqual(new Map([['default', bytes]]));
  cluster.delete('nodeclass', nodeClassValue('default').uid);
  await templates.sweep();
  expect(sizes).toEqual(new Map());
});
