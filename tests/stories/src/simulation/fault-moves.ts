import { type ServiceName, serviceNames } from '../services.js';
import type { Hand, Move } from './hand.js';

/** Where a process may die: the effects that each service has on the world. */
const effectsOf: Readonly<Record<ServiceName, readonly string[]>> = {
  'pod-watcher': ['publish batch', 'publish pod', 'patch pods/status'],
  solver: ['publish plan'],
  launcher: [
    'create nodeclaims',
    'ensureLaunchTemplate',
    'createFleet',
    'tagInstances',
    'patch nodeclaims',
    'patch nodeclaims/status',
    'patch nodes',
    'bind',
  ],
  reaper: ['patch nodes', 'patch nodeclaims', 'evict', 'delete nodeclaims', 'terminate'],
};

const streams = ['state', 'pending', 'plans', 'catalog', 'decisions', 'blobs'] as const;
/** The instance types whose capacity changes. */
export const types = ['m5.large', 'm5.xlarge', 'm5.2xlarge'] as const;
/** The zones of every story. */
export const zones = ['us-west-2a', 'us-west-2b'] as const;
/** Services that use Kubernetes. */
const clients = ['pod-watcher', 'launcher', 'reaper'] as const;

/** A process dies, now or around an effect, and another one starts, as a Deployment does. */
function kill(hand: Hand): readonly string[] {
  const service = hand.one(serviceNames);
  const { old, fresh } = hand.replaced(service);
  const around = hand.happens(0.3)
    ? ''
    : ` ${hand.one(['before', 'after'])} ${hand.one(effectsOf[service])}`;
  return [`kill ${old}${around}`, `start ${service} as ${fresh}`];
}

/**
 * A process gets no CPU for a while, and goes on where it was. Another one has taken its place, if
 * that was longer than its Lease.
 */
function pause(hand: Hand): readonly string[] {
  const service = hand.one(serviceNames);
  const { old, fresh } = hand.replaced(service);
  return [
    `start ${service} as ${fresh}`,
    `run ${String(hand.between(1, 10))}s`,
    `pause ${old}`,
    `run ${String(hand.between(5, 90))}s`,
    `wake ${old}`,
    `run ${String(hand.between(1, 30))}s`,
    `kill ${old}`,
  ];
}

function clock(hand: Hand): readonly string[] {
  const replica = hand.replicas.get(hand.one(serviceNames)) ?? 'reaper';
  const back = hand.happens(0.5) ? ' back' : '';
  const by = hand.one(['5s', '40s', '5m', '3h']);
  return [
    `clock of ${replica} jumps ${by}${back}`,
    `run ${String(hand.between(10, 200))}s`,
    `clock of ${replica} is right`,
  ];
}

function capacity(hand: Hand): readonly string[] {
  const free = hand.one(['no', '1', 'unlimited', 'unlimited']);
  return [`ec2 ${hand.one(types)}@${hand.one(zones)} has ${free} capacity`];
}

function interrupt(hand: Hand): readonly string[] {
  const { stage } = hand;
  const spot = stage
    .runningInstances()
    .filter((id) => stage.twin.instances.get(id).capacityType === 'spot');
  const name = hand.named('i', spot);
  return name === undefined ? [] : [`ec2 interrupts ${name}`];
}

const actions = [
  'DescribeInstances',
  'CreateFleet',
  'TerminateInstances',
  'CreateTags',
  'CreateLaunchTemplate',
  'DescribeInstanceStatus',
] as const;

function ec2(hand: Hand): readonly string[] {
  const [action, times] = [hand.one(actions), String(hand.between(1, 20))];
  return [
    hand.one([
      `ec2 throttles ${times} calls of ${action}`,
      `ec2 loses ${String(hand.between(1, 3))} answers of ${action}`,
      `ec2 shows instances after ${hand.one(['1s', '5s', '20s'])}`,
      `ec2 loses the tags of ${hand.named('i', hand.stage.runningInstances()) ?? 'i-1'}`,
    ]),
  ];
}

function kube(hand: Hand): readonly string[] {
  const service = hand.one(clients);
  const times = String(hand.between(1, 5));
  return [
    hand.one([
      `kube refuses ${times} writes of ${service}`,
      `kube throttles ${times} calls of ${service}`,
      `kube fails ${times} calls of ${service}`,
      `kube loses ${times} answers of ${service}`,
    ]),
  ];
}

/** A fault that lasts beside others, until it ends by itself. At most two do at once. */
function lasting(hand: Hand): readonly string[] {
  if (hand.open.length >= 2) return hand.recovers();
  const role = hand.one(streams);
  const [line, end] = hand.one<readonly [string, string]>([
    [`ec2 throttles 1000 calls of ${hand.one(actions)}`, 'ec2 answers'],
    [
      `bus delays stream ${role} by ${hand.one(['1s', '5s', '30s'])}`,
      `bus delays stream ${role} by 0s`,
    ],
    ['bus delivers newest first', 'bus delivers oldest first'],
  ]);
  hand.open.push(end);
  return [line];
}

/** Watches fall behind for a while, and then catch up, or break and list again. */
function watches(hand: Hand): readonly string[] {
  const service = hand.one(clients);
  const end = hand.one(['go on', 'break']);
  return [
    `watches of ${service} stall`,
    `run ${String(hand.between(1, 140))}s`,
    `watches of ${service} ${end}`,
  ];
}

function bus(hand: Hand): readonly string[] {
  const role = hand.one(streams);
  const later = `run ${String(hand.between(1, 60))}s`;
  return hand.one<readonly string[]>([
    ['bus goes down', later, `bus comes back${hand.happens(0.3) ? ' empty' : ''}`],
    [`bus loses stream ${role}`],
    [`bus purges stream ${role}`],
    ['bus delivers again'],
    [`bus loses ${String(hand.between(1, 5))} answers`],
  ]);
}

/** Faults, by the place where they happen. */
export const faultMoves: readonly Move[] = [
  { weight: 4, lines: kill },
  { weight: 2, lines: pause },
  { weight: 1, lines: clock },
  { weight: 2, lines: capacity },
  { weight: 2, lines: interrupt },
  { weight: 2, lines: ec2 },
  { weight: 2, lines: kube },
  { weight: 2, lines: watches },
  { weight: 3, lines: bus },
  { weight: 2, lines: lasting },
  { weight: 3, lines: (hand) => hand.recovers() },
];
