import { memoryBus, MemoryBusServer } from '@dovetail/sim-bus';
import { virtualClock } from '@dovetail/sim-clock';
import { expect, test } from 'vitest';

import { type Channel, publishDecision, streamName, streamSpecs, subjects } from '../index.js';
import { sampleDecision } from '../testing/samples.js';

test.each([
  ['lab', 'launch', '/dovetail/lab/test', 'dovetail.v1.Decision.launch'],
  ['other', 'drain', '/dovetail/other/test', 'dovetail.v1.Decision.drain'],
] as const)(
  'decisions of cluster %s of the kind %s say so, and what they are about',
  async (cluster, kind, source, type) => {
    const clock = virtualClock(0);
    const bus = memoryBus(new MemoryBusServer(clock));
    await bus.ensureStreams(streamSpecs(cluster));
    const hash = { sha256Hex: (text: string) => text };
    const channel: Channel = { bus, cluster, source: 'test', clock, hash };
    const objects = [{ kind: 'Pod', namespace: 'default', name: 'web-1' }];
    await publishDecision(channel, { ...sampleDecision, kind, objects });
    const subject = subjects.decision(cluster, kind, sampleDecision.pool);
    const kept = await bus.lastMessage(streamName(cluster, 'decisions'), subject);
    expect(kept?.headers).toMatchObject({
      'ce-source': source,
      'ce-type': type,
      'ce-subject': 'Pod/default/web-1',
    });
  },
);
