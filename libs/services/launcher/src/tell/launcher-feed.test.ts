import { streamName, streamSpecs } from '@dovetail/contracts';
import { claimValue } from '@dovetail/core-api/testing';
import { Cluster } from '@dovetail/core-cluster';
import { podValue } from '@dovetail/core-kube-model/testing';
import { noVitals } from '@dovetail/core-ports';
import { clusterName, Stage } from '@dovetail/sim-stage';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { BusTime } from './bus-time.js';
import { LauncherFeed } from './launcher-feed.js';

const holders = 200;
let stage: Stage;
beforeEach(async () => {
  stage = await new Stage().begin();
  await stage.bus.ensureStreams(streamSpecs(clusterName));
});
afterEach(() => stage.end());

const promiseOf = (...podUids: readonly string[]) => ({
  'dovetail.sh/promise': JSON.stringify({ podUids, admission: '1.1' }),
});
const published = async (): Promise<number> =>
  (await stage.bus.position(streamName(clusterName, 'state'))).lastSequence;

test('a pod that is bound costs a look at its own promise, not at all of them', async () => {
  const cluster = new Cluster();
  for (let index = 0; index < holders; index += 1) {
    const [a, b] = [podValue(`a${index}`), podValue(`b${index}`)];
    cluster.set('pod', a);
    cluster.set('pod', b);
    cluster.set('claim', claimValue(`c${index}`, { annotations: promiseOf(a.uid, b.uid) }));
  }
  const { channel, log, metrics } = stage;
  const busTime = new BusTime(() => channel.clock.nowMs());
  const feed = new LauncherFeed({
    channel,
    log,
    metrics,
    vitals: noVitals,
    cluster,
    busTime,
    epoch: 1,
  });
  void feed.run(stage.stop.signal);
  await stage.advance(500);
  expect(await published()).toBe(holders);
  const looks = vi.spyOn(cluster.pods, 'get');
  cluster.set('pod', podValue('a7', { nodeName: 'n', resourceVersion: '2' }));
  await stage.advance(500);
  expect(await published()).toBe(holders + 1);
  expect(looks.mock.calls.length).toBeLessThan(10);
});
