import { Cluster } from '@dovetail/core-cluster';
import type { LaunchTemplateSpec } from '@dovetail/core-ec2-model';
import { noVitals } from '@dovetail/core-ports';
import { virtualClock } from '@dovetail/sim-clock';
import { hash } from '@dovetail/sim-stage';
import { expect, test } from 'vitest';

import { Templates } from './templates.js';
import { UnpairedClaims } from './unpaired-claims.js';

const quiet = (): void => undefined;

test('the content of a template is remembered until it has been idle, and its user data with it', async () => {
  const clock = virtualClock(0);
  const cluster = new Cluster();
  /** Whether EC2 made the template of each call. */
  const made = [true, false];
  const said: string[] = [];
  const templates = new Templates({
    cloud: {
      launchTemplates: () => Promise.resolve([]),
      ensureLaunchTemplate: () => Promise.resolve(made.shift() ?? false),
      deleteLaunchTemplate: () => Promise.resolve(),
    },
    clock,
    log: { debug: quiet, info: (_event, message) => said.push(message), warn: quiet, error: quiet },
    vitals: noVitals,
    cluster,
    unpaired: new UnpairedClaims(cluster, hash.sha256Hex),
    clusterName: 'lab',
    idleMs: 60_000,
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
