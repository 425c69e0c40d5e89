import { virtualClock } from '@dovetail/sim-clock';
import type { BootedInstance } from '@dovetail/sim-kube';
import { expect, test } from 'vitest';

import { BootSchedule } from './boot-schedule.js';

const machine = (nodeName: string): BootedInstance => ({
  nodeName,
  providerId: `aws:///us-west-2a/${nodeName}`,
  labels: {},
  taints: [],
  capacity: {},
  allocatable: {},
  arch: 'amd64',
  kubeletVersion: 'v1.34.3',
});

function start(everyMs: number) {
  const clock = virtualClock(0);
  const log: string[] = [];
  const agent = {
    boot: ({ nodeName }: BootedInstance) => log.push(`${clock.nowMs()} ${nodeName} joins`),
    halt: (nodeName: string) => log.push(`${clock.nowMs()} ${nodeName} ends`),
  };
  return { clock, log, schedule: new BootSchedule(agent as never, clock, everyMs) };
}

test('machines of a burst join one after the other, and a later one at once', async () => {
  const { clock, log, schedule } = start(100);
  for (const name of ['a', 'b', 'c']) void schedule.boot(machine(name));
  await clock.advance(1000);
  void schedule.boot(machine('d'));
  await clock.advance(0);
  expect(log).toEqual(['0 a joins', '100 b joins', '200 c joins', '1000 d joins']);
});

test('a machine that ends before its turn never joins', async () => {
  const { clock, log, schedule } = start(100);
  void schedule.boot(machine('a'));
  void schedule.boot(machine('b'));
  schedule.halt('b');
  await clock.advance(1000);
  expect(log).toEqual(['0 a joins', '0 b ends']);
});

test('without a distance every machine joins at once', async () => {
  const { clock, log, schedule } = start(0);
  for (const name of ['a', 'b']) void schedule.boot(machine(name));
  await clock.advance(0);
  expect(log).toEqual(['0 a joins', '0 b joins']);
});
