import { tags } from '@dovetail/core-api';
import { Cluster } from '@dovetail/core-cluster';
import { launchTemplatePrefix, type LaunchTemplateSpec } from '@dovetail/core-ec2-model';
import { type Clock, CloudError, type LaunchTemplates, noVitals } from '@dovetail/core-ports';
import { virtualClock } from '@dovetail/sim-clock';
import { hash } from '@dovetail/sim-stage';
import { expect, test } from 'vitest';

import { Templates } from './templates.js';
import { UnpairedClaims } from './unpaired-claims.js';

const quiet = (): void => undefined;

/** Templates of a cluster, with what EC2 does with them. */
function templatesOf(clock: Clock, cloud: Partial<LaunchTemplates> = {}): Templates {
  const cluster = new Cluster();
  return new Templates({
    cloud: {
      launchTemplates: () => Promise.resolve([]),
      ensureLaunchTemplate: () => Promise.resolve(),
      deleteLaunchTemplate: () => Promise.resolve(),
      ...cloud,
    },
    clock,
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    vitals: noVitals,
    cluster,
    unpaired: new UnpairedClaims(cluster, hash.sha256Hex),
    clusterName: 'lab',
    idleMs: 60_000,
  });
}

test('the content of a template is remembered until it has been idle, and its user data with it', async () => {
  const clock = virtualClock(0);
  const templates = templatesOf(clock);
  const spec = { name: 'dovetail.sh/1' } as LaunchTemplateSpec;
  const isKnown = (): Promise<boolean> => templates.ensure([spec.name], { anew: false });
  templates.learn([spec]);
  await clock.advance(59_000);
  await templates.sweep();
  expect(await isKnown()).toBe(true);
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
  const templates = templatesOf(virtualClock(0), {
    launchTemplates: () => Promise.resolve(['1', '2', '3'].map(made)),
    deleteLaunchTemplate: (name) => {
      if (name.endsWith('1')) return Promise.reject(new CloudError('denied', 'Denied', 'no'));
      return Promise.resolve(void deleted.push(name));
    },
  });
  await expect(templates.sweep()).rejects.toThrow('no');
  expect(deleted).toEqual(['2', '3'].map((name) => `${launchTemplatePrefix}${name}`));
});
