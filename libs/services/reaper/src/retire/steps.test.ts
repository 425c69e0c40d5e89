import { annotations } from '@dovetail/core-api';
import { claimValue } from '@dovetail/core-api/testing';
import { renderRetirement, type Retirement } from '@dovetail/core-disruption';
import { nodeValue, podValue } from '@dovetail/core-kube-model/testing';
import { expect, test } from 'vitest';

import { ReaperCluster } from '../cluster/reaper-cluster.js';
import { defaultReaperConfig } from '../config.js';
import type { ReaperContext } from '../context.js';
import { stepOf } from './steps.js';

const minuteMs = 60_000;
const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'rs', uid: 'rs' };

/** The step of a command that waits for so long, beside so many nodes that go. */
async function stepAfter(waitedMs: number, going: number): Promise<string> {
  const cluster = new ReaperCluster(() => waitedMs, 'replace');
  const retirement: Retirement = { cause: 'underutilized', atMs: 0, detail: 'c' };
  const record = { [annotations.retirement]: renderRetirement(retirement) };
  for (let index = 0; index < going; index += 1)
    cluster.set('node', nodeValue(`n${String(index)}`, { annotations: record }));
  const context = {
    deps: { clock: { nowMs: () => waitedMs } },
    cluster,
    config: defaultReaperConfig,
  };
  const node = nodeValue('n0', {
    annotations: record,
    labels: { 'karpenter.sh/initialized': 'true' },
    taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }],
  });
  const pods = [podValue('a', { phase: 'Running', nodeName: 'n0', owner })];
  const view = { claim: claimValue('c'), node, pods };
  return (await stepOf(context as unknown as ReaperContext, view, retirement)).kind;
}

test.each([
  ['waits for its replacement in the first ten minutes', 9 * minuteMs, 1, 'ask'],
  ['is given up after them', 10 * minuteMs, 1, 'abandon'],
  ['waits longer while ten thousand nodes go', 10 * minuteMs, 10_000, 'ask'],
  ['is given up then, too', 14 * minuteMs, 10_000, 'abandon'],
])('a command %s', async (_what, waitedMs, going, step) =>
  expect(await stepAfter(waitedMs, going)).toBe(step),
);
