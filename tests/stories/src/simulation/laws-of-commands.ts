import { annotations, labels } from '@dovetail/core-api';
import { commandOfRetirement } from '@dovetail/core-disruption';
import { type KubeObject, kubeResources } from '@dovetail/core-ports';

import {
  type Claim,
  claimsOn,
  instanceOfClaim,
  instanceOfNode,
  isDeleted,
  namedInstance,
  nodesOn,
  retirementOf,
} from './facts.js';
import { highestPriceOf, lowestPriceAt, lowestPriceOf } from './prices-seen.js';
import type { Law, Story } from './watchman.js';

const claimTable = 'nodeclaims.karpenter.sh';
const commandTable = 'disruptions.dovetail.sh';

/** A purchase of a command, and the instances that it gives up for that. */
type Purchase = {
  readonly command: string;
  readonly bought: string;
  readonly old: readonly string[];
  /** The instance types that the launch could choose from. */
  readonly types: readonly string[];
  /** When the launcher wrote down what it buys, in milliseconds since 1970. */
  readonly decidedMs: number;
};

/** The plan that an admission mark (`epoch.number/planId/bin`) names. */
const planOf = ({ metadata }: KubeObject): string =>
  metadata.annotations?.[annotations.admission]?.split('/')[1] ?? '';

type Record = KubeObject & {
  readonly spec?: {
    readonly planID?: string;
    readonly pricePerHourBefore?: string;
    readonly nodesOut?: readonly { readonly nodeName: string }[];
  };
};

type Ordered = Omit<Purchase, 'bought' | 'decidedMs'>;

const intentOf = (claim: KubeObject | undefined): string | undefined =>
  claim?.metadata.annotations?.[annotations.launchIntent];

function purchaseOf({ stage }: Story, claim: Claim): Ordered | undefined {
  const plan = planOf(claim);
  const records: readonly Record[] = stage.list(kubeResources.disruptions);
  const record = records.find(({ spec }) => spec?.planID === plan);
  if (plan === '' || record === undefined) return undefined;
  const names = new Set((record.spec?.nodesOut ?? []).map(({ nodeName }) => nodeName));
  const old = nodesOn(stage).filter(({ metadata }) => names.has(metadata.name));
  const types = claim.spec?.requirements?.find(({ key }) => key === labels.instanceType)?.values;
  return { command: record.metadata.name, old: old.map(instanceOfNode), types: types ?? [] };
}

/**
 * Calls back when a claim of a command gets its instance. A fleet launches instances for several
 * claims, so that the instance itself does not tell yet which it is for.
 */
function whenBought(story: Story, judge: (purchase: Purchase) => void): void {
  const { stage } = story;
  const purchases = new Map<string, Ordered>();
  const decided = new Map<string, number>();
  stage.store.subscribe(({ table, kind, object, before }) => {
    if (table !== claimTable || kind === 'deleted') return;
    const { name } = object.metadata;
    const purchase = kind === 'added' ? purchaseOf(story, object) : purchases.get(name);
    if (purchase === undefined) return;
    purchases.set(name, purchase);
    if (intentOf(object) !== intentOf(before)) decided.set(name, stage.clock.nowMs());
    const decidedMs = decided.get(name) ?? stage.clock.nowMs();
    const bought = namedInstance(object);
    const isNew = before === undefined || namedInstance(before) === '';
    if (bought !== '' && isNew) judge({ ...purchase, bought, decidedMs });
  });
}

/** No under-used node is replaced by one of its own type, zone and capacity type. */
const noneReplacedByItsLike: Law = (story) =>
  whenBought(story, ({ bought, old }) => {
    const offeringOf = (id: string): string => {
      const { instanceType, zone, capacityType } = story.stage.twin.instances.get(id);
      return `${instanceType} ${zone} ${capacityType}`;
    };
    const [only, ...others] = old;
    if (only !== undefined && others.length === 0 && offeringOf(only) === offeringOf(bought))
      story.tell(`${only} is replaced by ${bought}, another ${offeringOf(bought)}`);
  });

/** The nodes that a command buys cost less than those that go, at prices that services can know. */
const replacementsSave: Law = (story) => {
  const { stage, tell } = story;
  const spent = new Map<string, number>();
  whenBought(story, ({ command, bought, old, decidedMs }) => {
    const before = old.reduce((sum, id) => sum + highestPriceOf(stage, id), 0);
    const after = (spent.get(command) ?? 0) + lowestPriceAt(stage, bought, decidedMs);
    spent.set(command, after);
    if (after >= before)
      tell(`${bought} costs ${String(after)} and replaces ${old.join(', ')} at ${String(before)}`);
  });
};

/** Dollars as a record shows them, in micro-dollars. */
const microsOf = (dollars = ''): number => Math.round(Number(dollars) * 1_000_000);

/** A command tells people the prices of its nodes as services can know them. */
const savingsAreTrue: Law = ({ stage, tell }) => {
  stage.store.subscribe(({ table, kind, object }) => {
    if (table !== commandTable || kind !== 'added') return;
    const { nodesOut = [], pricePerHourBefore } = (object as Record).spec ?? {};
    const names = new Set(nodesOut.map(({ nodeName }) => nodeName));
    const ids = nodesOn(stage)
      .filter(({ metadata }) => names.has(metadata.name))
      .map(instanceOfNode);
    const sumOf = (priceOf: typeof lowestPriceOf): number =>
      ids.reduce((sum, id) => sum + priceOf(stage, id), 0);
    const [said, least, most] = [
      microsOf(pricePerHourBefore),
      sumOf(lowestPriceOf),
      sumOf(highestPriceOf),
    ];
    // A record rounds each price.
    if (said < least - roundedMicros || said > most + roundedMicros)
      tell(
        `command ${object.metadata.name} counts ${ids.join(', ')} at ${String(said)}, not at ${String(least)} to ${String(most)}`,
      );
  });
};
const roundedMicros = 100;

/** Karpenter's rule for one Spot node that replaces another. */
const spotTypes = 15;

/**
 * A Spot node that replaces one Spot node is of one of fifteen types: of fewer, it would be the
 * next to be interrupted; of more, EC2 may sell one so dear that its pods are moved on.
 */
const spotHasChoice: Law = (story) =>
  whenBought(story, ({ bought, old, types }) => {
    const { stage, tell } = story;
    const isSpot = (id: string): boolean => stage.twin.instances.get(id).capacityType === 'spot';
    if (old.length !== 1 || ![...old, bought].every(isSpot) || types.length === spotTypes) return;
    tell(`${bought} replaces ${old.join()} as one of ${String(types.length)} types`);
  });

/** Pods that were moved for money are left alone for so long, save a clock that is a little off. */
const movePauseSeconds = 1_800 - 60;

/** No command gives up a node that a command has just bought. */
const boughtNodesStay: Law = ({ stage, tell }) => {
  stage.store.subscribe(({ table, object, before }) => {
    if (table !== 'nodes' || before === undefined || retirementOf(before) !== undefined) return;
    if (retirementOf(object)?.cause !== 'underutilized') return;
    const claim = claimsOn(stage).find((each) => instanceOfClaim(each) === instanceOfNode(object));
    if (claim?.metadata.annotations?.[annotations.maxPricePerHour] === undefined) return;
    const bornMs = Date.parse(claim.metadata.creationTimestamp ?? '');
    const age = (stage.clock.nowMs() - bornMs) / 1_000;
    if (age < movePauseSeconds)
      tell(`${object.metadata.name} goes, and was bought ${String(Math.floor(age))} s ago`);
  });
};

/** Clocks and watches of a reaper may be so far off. */
const slackSeconds = 30;

/**
 * A node for which something was bought in vain is left alone for as long as that took, so that no
 * money is spent on the same mistake over and over.
 */
const vainPurchasesPause: Law = ({ stage, tell }) => {
  const vain = new Map<string, { readonly tookMs: number; readonly endedMs: number }>();
  stage.store.subscribe(({ table, object, before }) => {
    if (table !== 'nodes' || before === undefined) return;
    const [now, earlier] = [retirementOf(object), retirementOf(before)];
    const [nowMs, { name }] = [stage.clock.nowMs(), object.metadata];
    if (now === undefined && earlier?.cause === 'underutilized' && earlier.planId !== undefined)
      vain.set(name, { tookMs: nowMs - earlier.atMs, endedMs: nowMs });
    const last = vain.get(name);
    if (earlier !== undefined || now?.cause !== 'underutilized' || last === undefined) return;
    const pausedMs = nowMs - last.endedMs;
    if (pausedMs >= last.tookMs - slackSeconds * 1_000) return;
    if (!stage.wasTroubled('reaper', last.endedMs))
      tell(`${name} is given up again after ${String(pausedMs / 1_000)} s, after a vain purchase`);
  });
};

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
const commandSeconds = 750;

/** Each command is decided soon: its nodes end, or they stay. */
const commandsAreDecided: Law = ({ stage, tell }) => {
  const begun = new Map<string, number>();
  const judge = (name: string, at: number): void => {
    const took = Math.floor(stage.seconds() - at);
    if (took <= commandSeconds) return;
    if (stage.wasTroubled('reaper', stage.clock.nowMs() - took * 1_000)) return;
    tell(`command ${name} is not decided after ${String(took)} s`);
  };
  stage.store.subscribe(({ table, kind, object }) => {
    if (table !== commandTable) return;
    const { name } = object.metadata;
    if (kind === 'added') begun.set(name, stage.seconds());
    const at = begun.get(name);
    if (at === undefined) return;
    if (kind !== 'deleted' && !['Ending', 'TakenBack'].includes(phaseOf(object) ?? '')) return;
    judge(name, at);
    begun.delete(name);
  });
  return () => {
    for (const [name, at] of begun) {
      if (stage.seconds() - at <= commandSeconds) continue;
      judge(name, at);
      begun.delete(name);
    }
  };
};

/** Laws that hold for commands at every moment. */
export const lawsOfCommands: readonly Law[] = [
  noneReplacedByItsLike,
  replacementsSave,
  savingsAreTrue,
  spotHasChoice,
  boughtNodesStay,
  vainPurchasesPause,
  commandsEndWhole,
  commandsAreDecided,
];
