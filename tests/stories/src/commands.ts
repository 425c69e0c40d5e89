import { kubeResources } from '@dovetail/core-ports';
import { type Death, nodeClassObject } from '@dovetail/sim-stage';

import type { Command } from './command.js';
import { faultCommands, msOf } from './fault-commands.js';
import { healthCommands } from './health-commands.js';
import { marketCommands } from './market-commands.js';
import { poolCommands } from './pool-commands.js';
import type { StoryStage } from './story-stage.js';
import { userCommands } from './user-commands.js';

const { ec2NodeClasses } = kubeResources;

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
    pattern: /^ec2 (?<type>\S+)@(?<zone>\S+) has (?<free>no|\d+|unlimited) capacity$/,
    run: (stage, { type = '', zone = '', free = '' }) =>
      stage.twin.setCapacity({ instanceType: type, zone, free: freeOf(free) }),
  },
  {
    pattern: /^ec2 interrupts (?<name>\S+)$/,
    run: (stage, { name = '' }) => stage.twin.interrupt(stage.narrator.names.actual(name)),
  },
  ...poolCommands,
  ...marketCommands,
  ...userCommands,
  ...faultCommands,
  ...healthCommands,
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
