import { followDecisions } from '@dovetail/contracts';
import { annotations, priceCapOf } from '@dovetail/core-api';
import { kubeResources } from '@dovetail/core-ports';

import { isCopy } from '../user-commands.js';
import {
  claimsOn,
  instanceOfClaim,
  instanceOfNode,
  isDeleted,
  isReady,
  namedInstance,
  nodesOn,
  stayingPods,
} from './facts.js';
import { lowestPriceOf } from './prices-seen.js';
import type { Law, Story } from './watchman.js';

/** The tag by which Karpenter and Dovetail find the claim of an instance. */
const claimTag = 'karpenter.sh/nodeclaim';

/** EC2 ends a Spot instance two minutes after its notice. */
const noticeSeconds = 120;

/** No claim has two living instances. They have their tags by the time they boot. */
const noneDoubled: Law = ({ stage, tell }) => {
  stage.twin.subscribe(({ kind, machine: { instanceId, tags } }) => {
    const claim = tags[claimTag] ?? '';
    if (kind !== 'booted' || claim === '') return;
    for (const id of stage.runningInstances())
      if (id !== instanceId && stage.twin.instances.get(id).tags[claimTag] === claim)
        tell(`claim ${claim} has two instances, ${id} and another`);
  });
};

/** Calls back when an instance ends, unless EC2 takes it. */
function whenEnded({ stage, taken }: Story, ended: (instanceId: string) => void): void {
  stage.twin.subscribe(({ kind, machine: { instanceId } }) => {
    if (kind === 'stopping' && !taken.has(instanceId)) ended(instanceId);
  });
}

/** No service ends an instance whose claim stands. */
const noneEndedInUse: Law = (story) =>
  whenEnded(story, (id) => {
    const claim = claimsOn(story.stage).find((each) => instanceOfClaim(each) === id);
    if (claim !== undefined && !isDeleted(claim))
      story.tell(`instance ${id} was ended while its claim ${claim.metadata.name} stands`);
  });

/**
 * No service ends an instance under pods that nobody has asked to end, unless the time that its
 * claim has for that runs out. Of a node that is silent nothing is known.
 */
const noneEndedUnderPods: Law = (story) =>
  whenEnded(story, (id) => {
    const { stage, tell } = story;
    const claim = claimsOn(stage).find((each) => namedInstance(each) === id);
    const node = nodesOn(stage).find((each) => instanceOfNode(each) === id);
    if (claim?.metadata.annotations?.[annotations.terminationTimestamp] !== undefined) return;
    if (claim === undefined || node === undefined || !isReady(node)) return;
    const [pod, ...others] = stayingPods(stage, node.metadata.name);
    if (pod !== undefined)
      tell(`instance ${id} was ended under ${pod.metadata.name} and ${String(others.length)} more`);
  });

/** No service ends an instance that has volumes of pods attached, unless its time runs out. */
const noneEndedUnderVolumes: Law = (story) =>
  whenEnded(story, (id) => {
    const { stage, tell } = story;
    const claim = claimsOn(stage).find((each) => namedInstance(each) === id);
    const node = nodesOn(stage).find((each) => instanceOfNode(each) === id);
    if (claim?.metadata.annotations?.[annotations.terminationTimestamp] !== undefined) return;
    if (claim === undefined || node === undefined || !isReady(node)) return;
    const attached = stage.list(kubeResources.volumeAttachments).filter((each) => {
      const { nodeName } = each['spec'] as { readonly nodeName?: string };
      return nodeName === node.metadata.name;
    });
    if (attached.length > 0)
      tell(`instance ${id} was ended with ${String(attached.length)} volumes attached`);
  });

/**
 * An instance whose end EC2 has announced is given up before that, if the reaper is left to it and
 * a claim had the instance by then. A node that was drained already may wait for EC2, and has
 * nothing to do by a deadline.
 */
const noticesObeyed: Law = ({ stage, taken, tell }) => {
  stage.twin.subscribe(({ kind, machine: { instanceId } }) => {
    const notice = taken.get(instanceId);
    if (kind !== 'stopping' || notice === undefined) return;
    const { toldSeconds, isInUse } = notice;
    // A service ended it before EC2 did, perhaps while the notice came.
    if (stage.seconds() - toldSeconds < noticeSeconds - 1) return;
    const toldMs = stage.clock.nowMs() - (stage.seconds() - toldSeconds) * 1_000;
    if (stage.wasTroubled('reaper', toldMs - 60_000)) return;
    if (stage.wasTroubled('launcher', toldMs - 120_000)) return;
    const claim = claimsOn(stage).find((each) => instanceOfClaim(each) === instanceId);
    if (claim === undefined) return;
    const { name } = claim.metadata;
    if (!isDeleted(claim)) tell(`the end of ${instanceId} came, and its claim ${name} stands`);
    else if (
      isInUse &&
      claim.metadata.annotations?.[annotations.terminationTimestamp] === undefined
    )
      tell(`the end of ${instanceId} came, and nothing was to end ${name} by then`);
  });
};

/** No instance costs more than its claim allows. */
const noneDearerThanAllowed: Law = ({ stage, tell }) => {
  stage.store.subscribe(({ table, object: claim, before }) => {
    if (table !== 'nodeclaims.karpenter.sh' || before === undefined) return;
    const instanceId = namedInstance(claim);
    if (instanceId === '' || namedInstance(before) !== '' || isCopy(claim.metadata.name)) return;
    const cap = priceCapOf({ annotations: claim.metadata.annotations ?? {} });
    const price = lowestPriceOf(stage, instanceId);
    if (cap !== undefined && price > cap)
      tell(`instance ${instanceId} costs ${String(price)}, its claim allows ${String(cap)}`);
  });
};

/** No instance costs more than the decision of its launch says. */
const noneDearerThanSaid: Law = ({ stage, tell }) => {
  const follow = async (): Promise<void> => {
    for await (const event of followDecisions(stage.channel, stage.stop.signal)) {
      if (event.kind !== 'decision' || event.decision.kind !== 'launch') continue;
      const { instanceId = '', priceMicrosPerHour: said } = event.decision;
      const price = lowestPriceOf(stage, instanceId);
      if (said !== undefined && price > said)
        tell(`instance ${instanceId} costs ${String(price)}, its decision says ${String(said)}`);
    }
  };
  void follow();
};

/** Laws that hold for instances at every moment. */
export const lawsOfInstances: readonly Law[] = [
  noneDoubled,
  noneEndedInUse,
  noneEndedUnderPods,
  noneEndedUnderVolumes,
  noticesObeyed,
  noneDearerThanAllowed,
  noneDearerThanSaid,
];
