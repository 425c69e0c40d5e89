import { annotations, parsePromise } from '@dovetail/core-api';
import { commandOfRetirement } from '@dovetail/core-disruption';
import { type KubeObject, kubeResources } from '@dovetail/core-ports';

import {
  instanceOfNode,
  isDeleted,
  namedInstance,
  type Node,
  nodesOn,
  podsOn,
  retirementOf,
} from './facts.js';
import { highestPriceOf, lowestPriceOf } from './prices-seen.js';
import type { Law, Story } from './watchman.js';

const claimTable = 'nodeclaims.karpenter.sh';
const commandTable = 'disruptions.dovetail.sh';

/** The under-used nodes for whose pods a claim is made. */
function nodesReplacedBy({ stage }: Story, claim: KubeObject): readonly Node[] {
  const uids = parsePromise(claim.metadata.annotations?.[annotations.promise])?.forPodUids ?? [];
  const names = new Set(
    podsOn(stage)
      .filter(({ metadata }) => uids.includes(metadata.uid ?? ''))
      .map(({ spec }) => spec?.nodeName),
  );
  return nodesOn(stage).filter(
    (node) => names.has(node.metadata.name) && retirementOf(node)?.cause === 'underutilized',
  );
}

/** Calls back when an instance is launched that replaces under-used nodes, with theirs. */
function whenReplaced(story: Story, replaced: (bought: string, old: readonly string[]) => void) {
  const { stage } = story;
  const oldOf = new Map<string, readonly string[]>();
  stage.store.subscribe(({ table, kind, object }) => {
    if (table !== claimTable || kind !== 'added') return;
    oldOf.set(object.metadata.name, nodesReplacedBy(story, object).map(instanceOfNode));
  });
  stage.twin.subscribe(({ kind, machine: { instanceId, tags } }) => {
    const old = oldOf.get(tags['karpenter.sh/nodeclaim'] ?? '') ?? [];
    if (kind === 'launched' && old.length > 0) replaced(instanceId, old);
  });
}

/** No under-used node is replaced by one of its own type, zone and capacity type. */
const noneReplacedByItsLike: Law = (story) =>
  whenReplaced(story, (bought, old) => {
    const offeringOf = (id: string): string => {
      const { instanceType, zone, capacityType } = story.stage.twin.instances.get(id);
      return `${instanceType} ${zone} ${capacityType}`;
    };
    const [only, ...others] = old;
    if (only !== undefined && others.length === 0 && offeringOf(only) === offeringOf(bought))
      story.tell(`${only} is replaced by ${bought}, another ${offeringOf(bought)}`);
  });

/** A node that replaces others costs less than they do, at prices that services can know. */
const replacementsSave: Law = (story) =>
  whenReplaced(story, (bought, old) => {
    const { stage, tell } = story;
    const before = old.reduce((sum, id) => sum + highestPriceOf(stage, id), 0);
    const after = lowestPriceOf(stage, bought);
    if (after >= before)
      tell(`${bought} costs ${String(after)} and replaces ${old.join(', ')} at ${String(before)}`);
  });

const phaseOf = (command: KubeObject | undefined): string | undefined =>
  (command?.['status'] as { readonly phase?: string } | undefined)?.phase;

/** The nodes of a command end once all of them may, and not before. */
const commandsEndWhole: Law = ({ stage, deletedByHand, tell }) => {
  stage.store.subscribe(({ table, object, before }) => {
    if (table !== claimTable || before === undefined) return;
    if (!isDeleted(object) || isDeleted(before) || deletedByHand.has(object.metadata.name)) return;
    const id = namedInstance(object);
    const node = nodesOn(stage).find((each) => id !== '' && instanceOfNode(each) === id);
    const name = node === undefined ? undefined : commandOfRetirement(retirementOf(node));
    if (name === undefined || node === undefined || isDeleted(node)) return;
    const phase = phaseOf(stage.find(kubeResources.disruptions, name));
    if (phase !== 'Ending')
      tell(`${node.metadata.name} ends by a command that is ${phase ?? 'not begun'}`);
  });
};

/** A command waits ten minutes for its nodes, and needs a few for the rest. */
const commandSeconds = 900;

/** Each command is decided within a quarter of an hour: its nodes end, or they stay. */
const commandsAreDecided: Law = ({ stage, tell }) => {
  const begun = new Map<string, number>();
  stage.store.subscribe(({ table, kind, object }) => {
    if (table !== commandTable) return;
    const { name } = object.metadata;
    if (kind === 'added') begun.set(name, stage.seconds());
    if (kind === 'deleted' || ['Ending', 'TakenBack'].includes(phaseOf(object) ?? ''))
      begun.delete(name);
  });
  return () => {
    for (const [name, at] of begun) {
      if (stage.seconds() - at <= commandSeconds) continue;
      if (stage.wasTroubled('reaper', stage.clock.nowMs() - commandSeconds * 1_000)) continue;
      tell(`command ${name} is not decided after a quarter of an hour`);
      begun.delete(name);
    }
  };
};

/** Laws that hold for commands at every moment. */
export const lawsOfCommands: readonly Law[] = [
  noneReplacedByItsLike,
  replacementsSave,
  commandsEndWhole,
  commandsAreDecided,
];
