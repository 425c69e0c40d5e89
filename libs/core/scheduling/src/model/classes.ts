import { at, float64At, lookUp } from '@dovetail/core-invariant';
import {
  compareText,
  intersectRequirements,
  type Pod,
  type Requirements,
  requirementsFromSelector,
  requirementsOf,
  type Resources,
} from '@dovetail/core-kube-model';

import type { Reason } from '../reasons.js';
import { type Dimensions, vectorOf } from './dimensions.js';
import { type EqualPods, equalPods, listText, recordText } from './equal-pods.js';
import { type Group, groupSelects, type GroupTable } from './groups.js';
import { type Demands, levelsOf, usableTerms } from './levels.js';
import { selectionText, type SelectorKeys } from './selection.js';
import type { Shape, ShapeTable } from './shapes.js';
import { type Attachment, type VolumeDemand, volumeDemandOf, type VolumeIndex } from './volumes.js';

/** The demands of a class at one level of relaxation. */
export type Level = {
  /** Alternatives that the volumes allow; usually one. */
  readonly shapes: readonly Shape[];
  /** Spread and affinity groups whose rule the class follows. */
  readonly carries: readonly Group[];
};

/** Pods that are equal in everything that planning reads. */
export type PodClass = {
  readonly index: number;
  /** One pod of the class; all others are equal to it. */
  readonly pod: Pod;
  /** The uids of all pods of the class, oldest first. */
  readonly uids: readonly string[];
  readonly requests: Float64Array;
  /**
   * The amounts that one pod counts as on a new node. Invariant: none is below its request, and it
   * is the vector of `requests` itself if nothing is assumed.
   */
  readonly newNodeRequests: Float64Array;
  readonly levels: readonly Level[];
  /** Groups that select these pods, with or without being carried by them. */
  readonly selectedBy: readonly Group[];
  readonly attachments: readonly Attachment[];
  /** The reason why no node can ever take these pods; absent for other classes. */
  readonly refusal?: Reason;
};

/** The tables of the snapshot that the classes of pods are made with. */
export type ClassTables = {
  readonly dimensions: Dimensions;
  readonly selection: SelectorKeys;
  readonly shapes: ShapeTable;
  readonly groups: GroupTable;
  readonly volumes: VolumeIndex;
  readonly preferences: 'Respect' | 'Ignore';
  /** The amounts that a new node counts for a pod that requests none. */
  readonly assumed: Resources;
  /**
   * Whether some pool has a taint with PreferNoSchedule. Tolerating it is then the last relaxation.
   */
  readonly taintPreferences: boolean;
  /** Returns the claim for one pod that another pod than this one uses. */
  readonly takenClaim: (pod: Pod) => string | undefined;
  /** Called between some pods; see `PlanOptions.giveWay`. */
  readonly giveWay?: (() => void) | undefined;
};

const older = (a: Pod, b: Pod): number => a.createdMs - b.createdMs || compareText(a.uid, b.uid);

/**
 * Orders pods as Karpenter queues them: most cpu first, then most memory, then oldest, then by uid.
 */
function largestFirst(a: Pod, b: Pod): number {
  return (
    (b.requests['cpu'] ?? 0) - (a.requests['cpu'] ?? 0) ||
    (b.requests['memory'] ?? 0) - (a.requests['memory'] ?? 0) ||
    older(a, b)
  );
}

/** Returns the requests, with the assumed amounts where they are zero. */
function withAssumed(requests: Float64Array, assumed: Float64Array): Float64Array {
  const lacks = assumed.some((amount, r) => amount > 0 && float64At(requests, r) === 0);
  return lacks
    ? requests.map((amount, r) => (amount > 0 ? amount : float64At(assumed, r)))
    : requests;
}

/** Groups pods into classes, largest pods first. Invariant: each pod is in exactly one class. */
export function classesOf(pods: readonly Pod[], tables: ClassTables): readonly PodClass[] {
  const assumed = vectorOf(tables.dimensions, tables.assumed);
  const lists = equalPods(pods, {
    names: tables.dimensions.names,
    selection: tables.selection,
    claims: tables.volumes.claims,
    takenClaim: tables.takenClaim,
    giveWay: tables.giveWay,
  });
  const first = ({ pods: [pod] }: EqualPods): Pod => pod as Pod;
  for (const list of lists) {
    tables.giveWay?.();
    list.pods.sort(older);
  }
  lists.sort((a, b) => largestFirst(first(a), first(b)));
  const drafts = new Map<string, Draft>();
  for (const list of lists)
    if (!drafts.has(list.demands)) drafts.set(list.demands, draftOf(first(list), tables));
  // Groups are complete only after every draft has been made.
  const selections = new Selections(tables);
  for (const draft of drafts.values()) draft.selectedBy = selections.of(draft.pod);
  return lists.map(({ pods: members, demands }, index) => {
    const { levels, attachments, refusal, selectedBy } = drafts.get(demands) as Draft;
    const pod = at(members, 0);
    const requests = vectorOf(tables.dimensions, pod.requests);
    const mine = {
      index,
      pod,
      uids: members.map((one) => one.uid),
      requests,
      newNodeRequests: withAssumed(requests, assumed),
      levels,
      attachments,
      selectedBy,
    };
    return refusal === undefined ? mine : { ...mine, refusal };
  });
}

/** The parts that pods share if they differ only in their requests. `pod` is one of those pods. */
type Draft = Pick<PodClass, 'levels' | 'attachments' | 'refusal'> & {
  readonly pod: Pod;
  selectedBy: readonly Group[];
};

function draftOf(pod: Pod, tables: ClassTables): Draft {
  const demand = volumeDemandOf(pod, tables.volumes);
  const refusal = refusalOf(pod, demand, tables.takenClaim(pod));
  if (refusal !== undefined || 'code' in demand)
    return {
      pod,
      levels: [],
      attachments: [],
      selectedBy: [],
      ...(refusal === undefined ? {} : { refusal }),
    };
  const levels = levelsOf(pod, {
    preferences: tables.preferences,
    taintPreferences: tables.taintPreferences,
  });
  return {
    pod,
    levels: levels.map((demands) => levelOf(pod, demands, demand, tables)),
    attachments: demand.attachments,
    selectedBy: [],
  };
}

function refusalOf(
  pod: Pod,
  demand: VolumeDemand | Reason,
  takenClaim: string | undefined,
): Reason | undefined {
  if (pod.schedulingGates.length > 0) {
    return {
      code: 'scheduling-gate',
      message: `the pod waits for scheduling gate ${pod.schedulingGates.join(', ')}`,
      values: { gates: pod.schedulingGates.join(',') },
    };
  }
  if (pod.resourceClaims.length > 0) {
    return {
      code: 'resource-claims',
      message: `the pod uses resource claims (${pod.resourceClaims.join(', ')}), which planning does not support; its nodes must exist already`,
      values: { claims: pod.resourceClaims.join(',') },
    };
  }
  if (pod.requiredNodeAffinity !== undefined) {
    const fields = pod.requiredNodeAffinity.flatMap((term) => term.matchFields);
    if (fields.length > 0)
      return {
        code: 'match-fields-unsupported',
        message:
          'required node affinity uses matchFields, which names one existing node; use matchExpressions',
        values: { field: fields[0]?.key ?? '' },
      };
    if (usableTerms(pod).length === 0)
      return {
        code: 'requirement-mismatch',
        message:
          'required node affinity has no term with expressions, so it matches no node; add an expression or remove it',
        values: { terms: String(pod.requiredNodeAffinity.length) },
      };
  }
  if ('code' in demand) return demand;
  return takenClaim === undefined ? undefined : claimTaken(takenClaim);
}

const claimTaken = (claim: string): Reason => ({
  code: 'volume',
  message: `claim ${claim} is ReadWriteOncePod and another pod uses it; wait for that pod to end, or use ReadWriteOnce`,
  values: { claim },
});

function nodeRequirements(pod: Pod, demands: Demands): Requirements {
  let requirements = requirementsFromSelector(pod.nodeSelector);
  for (const term of [demands.term, demands.preferredTerm]) {
    if (term !== undefined)
      requirements = intersectRequirements(requirements, requirementsOf(term.matchExpressions));
  }
  return requirements;
}

function levelOf(pod: Pod, demands: Demands, volumes: VolumeDemand, tables: ClassTables): Level {
  const text =
    `${recordText(pod.nodeSelector)};${demands.term === undefined ? '' : JSON.stringify(demands.term)};` +
    `${demands.preferredTerm === undefined ? '' : JSON.stringify(demands.preferredTerm)};${listText(pod.tolerations)};${demands.toleratesPreferred}`;
  const shape = tables.shapes.intern(text, () => ({
    requirements: nodeRequirements(pod, demands),
    tolerations: pod.tolerations,
    toleratesPreferred: demands.toleratesPreferred,
  }));
  const carries = new Set<Group>();
  for (const constraint of demands.spread) carries.add(tables.groups.spread(pod, constraint));
  demands.affinity.forEach((term, index) =>
    carries.add(
      tables.groups.affinity(pod, term, {
        kind: 'affinity',
        hard: index < demands.required.affinity,
      }),
    ),
  );
  demands.antiAffinity.forEach((term, index) =>
    carries.add(
      tables.groups.affinity(pod, term, {
        kind: 'anti',
        hard: index < demands.required.antiAffinity,
      }),
    ),
  );
  return {
    shapes: volumes.alternatives.map((one) => tables.shapes.narrowed(shape, one)),
    carries: [...carries],
  };
}

/**
 * Finds the groups that select a pod. Answers are kept per namespace and relevant labels, because
 * many classes share them.
 */
export class Selections {
  readonly #known = new Map<string, readonly Group[]>();
  readonly #tables: Pick<ClassTables, 'groups' | 'selection'>;
  #indexed = 0;
  readonly #byLabel = new Map<string, Group[]>();
  readonly #others: Group[] = [];

  constructor(tables: Pick<ClassTables, 'groups' | 'selection'>) {
    this.#tables = tables;
  }

  of(pod: Pod): readonly Group[] {
    if (this.#indexed < this.#tables.groups.groups.length) this.#index();
    const text = selectionText(pod, this.#tables.selection);
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const candidates = this.#tables.selection.keys
      .flatMap((key) => this.#byLabel.get(`${key}=${lookUp(pod.labels, key) ?? ''}`) ?? [])
      .concat(this.#others);
    const groups = [...new Set(candidates)]
      .filter((group) => groupSelects(group, pod))
      .sort((a, b) => a.id - b.id);
    this.#known.set(text, groups);
    return groups;
  }

  /**
   * Files each group under the label values of its first `In` requirement, so that each pod is
   * tested against few groups.
   */
  #index(): void {
    this.#known.clear();
    for (const group of this.#tables.groups.groups.slice(this.#indexed)) {
      if (group.selector === undefined) continue;
      const anchor = group.selector.requirements.find((one) => one.operator === 'In');
      if (anchor === undefined) this.#others.push(group);
      else for (const value of anchor.values) this.#file(`${anchor.key}=${value}`, group);
    }
    this.#indexed = this.#tables.groups.groups.length;
  }

  #file(label: string, group: Group): void {
    const list = this.#byLabel.get(label);
    if (list === undefined) this.#byLabel.set(label, [group]);
    else list.push(group);
  }
}
