import { streamName, type StreamRole } from '@dovetail/contracts';
import { clusterName } from '@dovetail/sim-stage';

import type { Command } from './command.js';
import { heal } from './health-commands.js';
import { serviceNames, serviceOf } from './services.js';

const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };
/** `5m` in milliseconds. */
export const msOf = (length = ''): number =>
  Number(length.slice(0, -1)) * (units[length.slice(-1)] ?? 0);

const roles = ['state', 'pending', 'plans', 'catalog', 'decisions', 'blobs', 'records'] as const;

function streamOf(word = ''): string {
  const role: StreamRole | undefined = roles.find((each) => each === word);
  if (role === undefined) throw new Error(`no such stream: ${word}`);
  return streamName(clusterName, role);
}

const processes: readonly Command[] = [
  {
    pattern: /^pause (?<replica>\S+)$/,
    run: (stage, { replica = '' }) => {
      stage.process(replica).life.pause();
      stage.troubles.begin(`pause ${replica}`);
    },
  },
  {
    pattern: /^wake (?<replica>\S+)$/,
    run: (stage, { replica = '' }) => {
      stage.process(replica).life.wake();
      stage.troubles.end(`pause ${replica}`);
    },
  },
  {
    pattern: /^clock of (?<replica>\S+) jumps (?<length>\d+[smh])(?<back> back)?$/,
    run: (stage, { replica = '', length, back }) => {
      stage.process(replica).clock.jump(back === undefined ? msOf(length) : -msOf(length));
      stage.troubles.begin(`clock of ${replica}`);
    },
  },
  {
    pattern: /^lease writes of (?<replica>\S+) (?<what>fail|go on)$/,
    run: (stage, { replica = '', what }) => {
      if (what === 'fail') stage.leaseless.add(replica);
      else stage.leaseless.delete(replica);
    },
  },
  {
    pattern: /^clock of (?<replica>\S+) is right$/,
    run: (stage, { replica = '' }) => {
      stage.process(replica).clock.set();
      stage.troubles.end(`clock of ${replica}`);
    },
  },
];

const kubernetes: readonly Command[] = [
  {
    pattern: /^kube spoils 1 in (?<every>\d+) calls of (?<service>\S+)$/,
    run: (stage, { every, service = '' }) => stage.faultsOf(service).every(Number(every)),
  },

  {
    pattern: /^kube (?<what>refuses|throttles) (?<times>\d+) (?:writes|calls) of (?<service>\S+)$/,
    run: (stage, { what, times, service = '' }) => {
      const kind = what === 'refuses' ? 'conflict' : 'throttle';
      stage.faultsOf(service).order({ kind, times: Number(times) });
      stage.troubles.note(serviceOf(service));
    },
  },
  {
    pattern: /^kube (?<what>fails|loses) (?<times>\d+) (?:calls|answers) of (?<service>\S+)$/,
    run: (stage, { what, times, service = '' }) => {
      const when = what === 'fails' ? 'before' : 'after';
      stage.faultsOf(service).order({ kind: 'unavailable', when, times: Number(times) });
      stage.troubles.note(serviceOf(service));
    },
  },
  {
    pattern: /^watches of (?<service>\S+) (?<what>stall|go on|break)$/,
    run: (stage, { service = '', what }) => {
      const { watches } = stage.faultsOf(service);
      if (what === 'stall') watches.stall();
      else if (what === 'break') watches.break();
      else watches.resume();
      stage.troubles.note(serviceOf(service));
    },
  },
];

const bus: readonly Command[] = [
  {
    pattern: /^bus goes down$/,
    run: (stage) => {
      stage.server.stop();
      stage.troubles.begin('bus');
    },
  },
  {
    pattern: /^bus comes back(?<empty> empty)?$/,
    run: (stage, { empty }) => {
      stage.server.start({ wiped: empty !== undefined });
      stage.troubles.end('bus');
    },
  },
  {
    pattern: /^bus loses stream (?<role>\S+)$/,
    run: (stage, { role }) => stage.server.deleteStream(streamOf(role)),
  },
  {
    pattern: /^bus purges stream (?<role>\S+)$/,
    run: (stage, { role }) => stage.server.purgeStream(streamOf(role)),
  },
  {
    pattern: /^bus delays stream (?<role>\S+) by (?<length>\d+[smh])$/,
    run: (stage, { role, length }) => stage.server.delay(streamOf(role), msOf(length)),
  },
  { pattern: /^bus delivers again$/, run: (stage) => stage.server.redeliver() },
  {
    pattern: /^bus delivers (?<order>newest|oldest) first$/,
    run: (stage, { order }) => void (stage.server.newestFirst = order === 'newest'),
  },
  {
    pattern: /^bus loses (?<times>\d+) answers$/,
    run: (stage, { times }) => stage.server.loseAnswers(Number(times)),
  },
];

const ec2: readonly Command[] = [
  {
    pattern: /^ec2 throttles (?<times>\d+) calls of (?<action>\S+)$/,
    run: (stage, { times, action = '' }) =>
      stage.twin.gate.fail({
        action: `ec2:${action}`,
        code: 'RequestLimitExceeded',
        times: Number(times),
      }),
  },
  {
    pattern: /^ec2 loses (?<times>\d+) answers of (?<action>\S+)$/,
    run: (stage, { times, action = '' }) =>
      stage.twin.gate.fail({
        action: `ec2:${action}`,
        code: 'InternalError',
        times: Number(times),
        when: 'after',
      }),
  },
  {
    pattern: /^ec2 shows instances after (?<length>\d+[smh])$/,
    run: (stage, { length }) => stage.twin.setConsistency(msOf(length)),
  },
  {
    pattern: /^machines (?<what>do not join|join)$/,
    run: (stage, { what }) => void (stage.machinesJoin = what === 'join'),
  },
  {
    pattern: /^machines of (?<type>\S+) (?<what>do not join|join)$/,
    run: (stage, { type = '', what }) => {
      if (what === 'join') stage.bootless.delete(type);
      else stage.bootless.add(type);
    },
  },
  { pattern: /^ec2 answers$/, run: (stage) => stage.twin.gate.endFailures() },
  {
    pattern: /^ec2 loses the tags of (?<name>\S+)$/,
    run: (stage, { name = '' }) => stage.twin.untag([stage.narrator.names.actual(name)]),
  },
];

/** Faults of processes, the API server, the bus and EC2, in the language of the stories. */
export const faultCommands: readonly Command[] = [
  ...processes,
  ...kubernetes,
  ...bus,
  ...ec2,
  {
    pattern: /^faults end$/,
    run: (stage) => {
      for (const service of serviceNames) stage.faultsOf(service).clear();
      for (const { life, clock } of stage.processes()) {
        life.wake();
        clock.set();
      }
      stage.leaseless.clear();
      stage.machinesJoin = true;
      stage.bootless.clear();
      for (const role of roles) stage.server.delay(streamOf(role), 0);
      stage.server.newestFirst = false;
      stage.server.loseAnswers(0);
      stage.server.start();
      stage.twin.gate.endFailures();
      stage.twin.setConsistency(300);
      return heal(stage);
    },
  },
];
