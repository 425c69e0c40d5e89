import type { Pod } from '@dovetail/core-kube-model';

import type { Plan } from '../plan.js';
import { plan } from '../planner.js';
import type { PlanOptions, Snapshot } from '../snapshot.js';
import { answering, type Answers } from './answers.js';
import { listOf, type PartIds, type PartWriter, type RecordPart } from './parts.js';
import type { PlanSketch } from './sketch.js';
import { readWritten, written } from './written.js';

/** Everything that a plan was made from. The same input gives the same plan, byte for byte. */
export type PlanInput = {
  readonly snapshot: Snapshot;
  readonly pods: readonly Pod[];
  readonly options: PlanRules;
  readonly answers: Answers;
};

/** The record of a plan: its input, and what came of it. */
export type Recorded = { readonly input: PlanInput; readonly made: PlanSketch };

/** The options of planning, without those that look at time. */
type PlanRules = Omit<PlanOptions, 'shouldStop' | 'giveWay'>;

/** The lists of a snapshot that are written as parts. The types of each pool are, too. */
const lists = [
  'nodes',
  'daemonSets',
  'namespaces',
  'persistentVolumes',
  'persistentVolumeClaims',
  'storageClasses',
  'csiNodes',
] as const;
type ListName = (typeof lists)[number];
type PoolParts = Omit<Snapshot['pools'][number], 'instanceTypes'> & { readonly types: PartIds };

/** The form of an input whose lists are parts. */
type Written = {
  /** The version of this form. Others are refused. */
  readonly form: typeof form;
  readonly head: Omit<Snapshot, ListName | 'pools'>;
  readonly pools: readonly PoolParts[];
  readonly lists: Readonly<Record<ListName, PartIds>>;
  readonly pods: PartIds;
  readonly options: PlanRules;
  readonly answers: Answers;
  readonly made: Omit<PlanSketch, 'nodes' | 'unplaced'> & {
    readonly nodes: PartIds;
    readonly unplaced: PartIds;
  };
};

/** Raised with every change of what is written, so that an older reader says so. */
const form = 1;

/**
 * Writes what is recorded of a plan. Yields the parts that are not kept yet, and undefined where
 * the caller can do other work. Returns the text that names all parts.
 */
export function* writtenRecord(
  { input: { snapshot, pods, options, answers }, made }: Recorded,
  parts: PartWriter,
): Generator<RecordPart | undefined, string> {
  const pools: PoolParts[] = [];
  for (const { instanceTypes, ...pool } of snapshot.pools)
    pools.push({ ...pool, types: yield* parts.list(instanceTypes) });
  const ids: Partial<Record<ListName, PartIds>> = {};
  for (const name of lists) ids[name] = yield* parts.list(snapshot[name]);
  const { stateSequence, catalogRevision, admissionHead } = snapshot;
  const whole: Written = {
    form,
    head: { stateSequence, catalogRevision, admissionHead },
    pools,
    lists: ids as Written['lists'],
    pods: yield* parts.list(pods),
    options,
    answers,
    made: {
      ...made,
      nodes: yield* parts.list(made.nodes),
      unplaced: yield* parts.list(made.unplaced),
    },
  };
  return written(whole);
}

/** The ids of all parts that the text of a record names. Undefined: the text has another form. */
export function partsOfRecord(text: string): readonly string[] | undefined {
  const whole = readForm(text);
  if (whole === undefined) return undefined;
  const { pools, lists: named, pods, made } = whole;
  const ofPools = pools.map(({ types }) => types);
  const all = [...ofPools, ...Object.values(named), pods, made.nodes, made.unplaced];
  return [...new Set(all.flat(2))];
}

/** The record of this text and its parts. Undefined: a part is missing, or the form is another. */
export function readRecord(
  text: string,
  partOf: (id: string) => string | undefined,
): Recorded | undefined {
  const whole = readForm(text);
  if (whole === undefined) return undefined;
  let isWhole = true;
  const read = (ids: PartIds): never[] => {
    const items = listOf(ids, partOf);
    isWhole &&= items !== undefined;
    return (items ?? []) as never[];
  };
  const pools = whole.pools.map(({ types, ...pool }) => ({ ...pool, instanceTypes: read(types) }));
  const named = Object.fromEntries(lists.map((name) => [name, read(whole.lists[name])]));
  const snapshot = { ...whole.head, pools, ...(named as Record<ListName, never[]>) };
  const { options, answers, made } = whole;
  const recorded = {
    input: { snapshot, pods: read(whole.pods), options, answers },
    made: { ...made, nodes: read(made.nodes), unplaced: read(made.unplaced) },
  };
  return isWhole ? recorded : undefined;
}

function readForm(text: string): Written | undefined {
  const whole = readWritten(text) as Written;
  return whole.form === form ? whole : undefined;
}

/** Makes the plan of an input again. */
export const planAgain = ({ snapshot, pods, options, answers }: PlanInput): Plan =>
  plan(snapshot, pods, { ...options, shouldStop: answering(answers) });
