import { kubeResources } from '@dovetail/core-ports';
import { type Death, nodeClassObject, nodePoolObject } from '@dovetail/sim-stage';

import type { Command } from './command.js';
import { faultCommands, msOf } from './fault-commands.js';
import type { StoryStage } from './story-stage.js';
import { userCommands } from './user-commands.js';

const { ec2NodeClasses, nodePools } = kubeResources;

/** The language of the stories. Each command is one line. */
const commands: readonly Command[] = [
  { pattern: /^run (?<length>\d+[smh])$/, run: (stage, { length }) => stage.advance(msOf(length)) },
  {
    pattern: /^start (?<service>[a-z-]+?)(?: as (?<replica>\S+))?$/,
    run: (stage, { service = '', replica }) => stage.start(service, replica),
  },
  {
    pattern: /^kill (?<replica>\S+)(?: (?<when>before|after) (?<effect>.+))?$/,
    run: (stage, { replica = '', when, effect }) =>
      stage.kill(replica, effect === undefined ? undefined : ({ when, effect } as Death)),
  },
  { pattern: /^class (?<name>\S+)$/, run: (stage, words) => makeClass(stage, words) },
  {
    pattern: /^pool (?<name>\S+)(?<settings>( \w+=\S+)*)$/,
    run: (stage, words) => makePool(stage, words),
  },
  {
    pattern: /^ec2 (?<type>\S+)@(?<zone>\S+) has (?<free>no|\d+|unlimited) capacity$/,
    run: (stage, { type = '', zone = '', free = '' }) =>
      stage.twin.setCapacity({ instanceType: type, zone, free: freeOf(free) }),
  },
  {
    pattern: /^ec2 interrupts (?<name>\S+)$/,
    run: (stage, { name = '' }) => stage.twin.interrupt(stage.narrator.names.actual(name)),
  },
  ...userCommands,
  ...faultCommands,
];

/** Runs one line. Throws if it is no command. */
export async function runCommand(stage: StoryStage, line: string): Promise<void> {
  for (const { pattern, run } of commands) {
    const match = pattern.exec(line);
    if (match === null) continue;
    await run(stage, match.groups ?? {});
    return;
  }
  throw new Error(`no such command: ${line}`);
}

const freeOf = (word: string): number | 'unlimited' => {
  if (word === 'unlimited') return word;
  return word === 'no' ? 0 : Number(word);
};

const makeClass: Command['run'] = (stage, { name = '' }) =>
  stage.kube.create(ec2NodeClasses, nodeClassObject(name));

/**
 * Settings: capacity (on-demand, spot), types (comma between), expire, class, budget (nodes that
 * may be disrupted), and after how long nodes go that are empty, or also under-used ones
 * (consolidate).
 */
const makePool: Command['run'] = (stage, { name = '', settings = '' }) => {
  const set = new Map(
    settings
      .trim()
      .split(' ')
      .filter((each) => each !== '')
      .map((each) => each.split('=') as [string, string]),
  );
  const oneOf = (key: string, setting: string, fallback: string): object => ({
    key,
    operator: 'In',
    values: (set.get(setting) ?? fallback).split(','),
  });
  const object = nodePoolObject(name, {
    node: {
      expireAfter: set.get('expire') ?? 'Never',
      nodeClassRef: {
        group: 'karpenter.k8s.aws',
        kind: 'EC2NodeClass',
        name: set.get('class') ?? 'default',
      },
      requirements: [
        oneOf('karpenter.sh/capacity-type', 'capacity', 'on-demand'),
        oneOf('node.kubernetes.io/instance-type', 'types', 'm5.large,m5.xlarge,m5.2xlarge'),
      ],
    },
    disruption: {
      consolidationPolicy: set.has('consolidate') ? 'WhenEmptyOrUnderutilized' : 'WhenEmpty',
      consolidateAfter: set.get('consolidate') ?? set.get('empty') ?? 'Never',
      budgets: [{ nodes: set.get('budget') ?? '100%' }],
    },
  });
  return stage.kube.create(nodePools, object);
};
