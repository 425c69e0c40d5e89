import {
  intersectRequirements, requirementsFromLabels, requirementsOf, type Pod, type Requirements, type Resources,
} from '@dovetail/core-kube-model';
import type { Reason } from '../plan.js';
import { groupSelects, type Group, type GroupTable } from '../topology/groups.js';
import { vectorOf, type Dimensions } from './dimensions.js';
import { levelsOf, usableTerms, type Demands } from './levels.js';
import { selectionText, type SelectorKeys } from './selection.js';
import type { Shape, ShapeTable } from './shapes.js';
import { volumeDemandOf, type Attachment, type VolumeDemand, type VolumeIndex } from './volumes.js';

/** What a class insists on at one level of relaxation. */
export type Level = {
  /** Alternatives that its volumes leave, usually one. */
  readonly shapes: readonly Shape[];
  /** Spread and affinity groups whose rule it has to follow. */
  readonly carries: readonly Group[];
};

/** Pods that are equal in everything that planning reads. */
export type PodClass = {
  readonly index: number;
  /** One of them; any would do. */
  readonly pod: Pod;
  /** All of them, oldest first. */
  readonly uids: readonly string[];
  readonly requests: Float64Array;
  readonly levels: readonly Level[];
  /** Groups that count these pods, whether or not they carry the constraint themselves. */
  readonly selectedBy: readonly Group[];
  readonly attachments: readonly Attachment[];
  /** Set when no node could ever take the pod as it is. */
  readonly refusal?: Reason;
};

export type ClassTables = {
  readonly dimensions: Dimensions;
  readonly selection: SelectorKeys;
  readonly shapes: ShapeTable;
  readonly groups: GroupTable;
  readonly volumes: VolumeIndex;
  readonly preferences: 'Respect' | 'Ignore';
  /** Whether some pool has a taint with PreferNoSchedule, which is then the last thing to relax. */
  readonly taintPreferences: boolean;
};

const listText = (list: readonly unknown[]): string => (list.length === 0 ? '' : JSON.stringify(list));

function recordText(record: Readonly<Record<string, string>>): string {
  const keys = Object.keys(record);
  if (keys.length === 0) return '';
  return keys.sort().map((key) => `${key}=${record[key]}`).join(',');
}

function requestsText(requests: Resources, names: readonly string[]): string {
  let text = '';
  for (const name of names) text += `${requests[name] ?? 0},`;
  return text;
}

/** Equal text, equal pods. Written by hand: this runs once for every pod, and serialising whole pods costs six times as much. */
function classText(pod: Pod, tables: ClassTables): string {
  const volumes = pod.volumes.length === 0 ? ''
    : pod.namespace + listText(pod.volumes.map((one) => (one.ephemeral === undefined ? one.claimName : tables.volumes.claims.has(`${pod.namespace}/${one.claimName}`) ? one : one.ephemeral)));
  return `${requestsText(pod.requests, tables.dimensions.names)};${recordText(pod.nodeSelector)};${selectionText(pod, tables.selection)};`
    + `${pod.requiredNodeAffinity === undefined ? '' : JSON.stringify(pod.requiredNodeAffinity)};${listText(pod.preferredNodeAffinity)};`
    + `${listText(pod.tolerations)};${listText(pod.topologySpread)};${listText(pod.requiredPodAffinity)};${listText(pod.preferredPodAffinity)};`
    + `${listText(pod.requiredPodAntiAffinity)};${listText(pod.preferredPodAntiAffinity)};${listText(pod.hostPorts)};${volumes};`
    + `${pod.resourceClaims.join(',')};${pod.schedulingGates.join(',')}`;
}

const older = (a: Pod, b: Pod): number => a.createdMs - b.createdMs || (a.uid < b.uid ? -1 : a.uid > b.uid ? 1 : 0);

/** Largest first, as Karpenter queues pods: cpu, then memory, then age, then uid. */
function largestFirst(a: Pod, b: Pod): number {
  return (b.requests['cpu'] ?? 0) - (a.requests['cpu'] ?? 0) || (b.requests['memory'] ?? 0) - (a.requests['memory'] ?? 0) || older(a, b);
}

/** Groups pods into classes, largest pods first. A uid that occurs twice counts once. */
export function classesOf(pods: readonly Pod[], tables: ClassTables): readonly PodClass[] {
  const members = new Map<string, Pod[]>();
  const seen = new Set<string>();
  for (const pod of pods) {
    if (seen.has(pod.uid)) continue;
    seen.add(pod.uid);
    const text = classText(pod, tables);
    const list = members.get(text);
    if (list === undefined) members.set(text, [pod]);
    else list.push(pod);
  }
  const lists = [...members.values()].map((list) => list.sort(older));
  const first = (list: readonly Pod[]): Pod => list[0] as Pod;
  lists.sort((a, b) => largestFirst(first(a), first(b)));
  const drafts = lists.map((list, index) => draftOf(list, index, tables));
  return withSelections(drafts, tables);
}

type Draft = Omit<PodClass, 'selectedBy'>;

function draftOf(list: readonly Pod[], index: number, tables: ClassTables): Draft {
  const pod = list[0] as Pod;
  const demand = volumeDemandOf(pod, tables.volumes);
  const refusal = refusalOf(pod, demand);
  const base = { index, pod, uids: list.map((one) => one.uid), requests: vectorOf(tables.dimensions, pod.requests) };
  if (refusal !== undefined || 'code' in demand) return { ...base, levels: [], attachments: [], ...(refusal === undefined ? {} : { refusal }) };
  const levels = levelsOf(pod, { preferences: tables.preferences, taintPreferences: tables.taintPreferences });
  return { ...base, levels: levels.map((demands) => levelOf(pod, demands, demand, tables)), attachments: demand.attachments };
}

function refusalOf(pod: Pod, demand: VolumeDemand | Reason): Reason | undefined {
  if (pod.schedulingGates.length > 0) {
    return { code: 'scheduling-gate', message: `the pod waits for scheduling gate ${pod.schedulingGates.join(', ')}`, values: { gates: pod.schedulingGates.join(',') } };
  }
  if (pod.resourceClaims.length > 0) {
    return { code: 'resource-claims', message: `the pod uses resource claims (${pod.resourceClaims.join(', ')}), which planning does not support; its nodes must exist already`, values: { claims: pod.resourceClaims.join(',') } };
  }
  if (pod.requiredNodeAffinity !== undefined) {
    const fields = pod.requiredNodeAffinity.flatMap((term) => term.matchFields);
    if (fields.length > 0) return { code: 'match-fields-unsupported', message: 'required node affinity uses matchFields, which names one existing node; use matchExpressions', values: { field: fields[0]?.key ?? '' } };
    if (usableTerms(pod).length === 0) return { code: 'requirement-mismatch', message: 'required node affinity has no term with expressions, so it matches no node; add an expression or remove it', values: { terms: String(pod.requiredNodeAffinity.length) } };
  }
  return 'code' in demand ? demand : undefined;
}

function nodeRequirements(pod: Pod, demands: Demands): Requirements {
  let requirements = requirementsFromLabels(pod.nodeSelector);
  for (const term of [demands.term, demands.preferredTerm]) {
    if (term !== undefined) requirements = intersectRequirements(requirements, requirementsOf(term.matchExpressions));
  }
  return requirements;
}

function levelOf(pod: Pod, demands: Demands, volumes: VolumeDemand, tables: ClassTables): Level {
  const text = `${recordText(pod.nodeSelector)};${demands.term === undefined ? '' : JSON.stringify(demands.term)};`
    + `${demands.preferredTerm === undefined ? '' : JSON.stringify(demands.preferredTerm)};${listText(pod.tolerations)};${demands.toleratesPreferred}`;
  const shape = tables.shapes.intern(text, () => ({
    requirements: nodeRequirements(pod, demands), tolerations: pod.tolerations, toleratesPreferred: demands.toleratesPreferred,
  }));
  const carries = new Set<Group>();
  for (const constraint of demands.spread) carries.add(tables.groups.spread(pod, constraint));
  demands.affinity.forEach((term, index) => carries.add(tables.groups.affinity(pod, term, { kind: 'affinity', hard: index < demands.required.affinity })));
  demands.antiAffinity.forEach((term, index) => carries.add(tables.groups.affinity(pod, term, { kind: 'anti', hard: index < demands.required.antiAffinity })));
  return { shapes: volumes.alternatives.map((one) => tables.shapes.narrowed(shape, one)), carries: [...carries] };
}

/** Which groups select a pod, remembered per namespace and relevant labels: many classes, few such texts. */
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
    const candidates = this.#tables.selection.keys.flatMap((key) => this.#byLabel.get(`${key}=${pod.labels[key] ?? ''}`) ?? []).concat(this.#others);
    const groups = [...new Set(candidates)].filter((group) => groupSelects(group, pod)).sort((a, b) => a.id - b.id);
    this.#known.set(text, groups);
    return groups;
  }

  /** Files each group under the first label value that it insists on, so that a pod is tested against few of them. */
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

function withSelections(drafts: readonly Draft[], tables: ClassTables): readonly PodClass[] {
  const selections = new Selections(tables);
  return drafts.map((draft) => ({ ...draft, selectedBy: selections.of(draft.pod) }));
}
