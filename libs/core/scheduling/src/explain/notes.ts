import { sizesOf } from '@dovetail/core-api';
import type { InstanceType } from '@dovetail/core-ec2-model';
import { describeSet, type Requirements, requirementsOf, toSpecs } from '@dovetail/core-kube-model';

import type { State } from '../match/states.js';
import type { Offer } from '../model/templates.js';
import type { Reason } from '../reasons.js';
import type { Engine } from '../rooms/engine.js';
import { sizesValue } from '../sized-nodes.js';
import { templateReason } from './pools.js';
import { narrowing } from './types.js';

function typesIn(offers: readonly Offer[]): number {
  const types = new Set<InstanceType>();
  for (const { type } of offers) types.add(type.type);
  return types.size;
}

/** Names the types that a pool's nodes are sized by; empty if all types count. */
const sizesIn = ({ template, sized }: State): string =>
  [...requirementsOf((sized ? sizesOf(template.pool) : undefined) ?? [])]
    .map(([key, set]) => `${key} ${describeSet(set)}`)
    .join(' and ');

/** Says which types a pool's nodes are sized by; empty if all types count. */
function sizesText(state: State): string {
  const { template } = state;
  const sizes = sizesIn(state);
  return sizes === ''
    ? ''
    : `, and its nodes are sized by types with ${sizes}, as for every ${template.pool.identity.kind} that names no types; any type that holds one may be launched`;
}

const poolValues = ({ world }: Engine, state: State): Reason['values'] => ({
  weight: String(state.template.pool.weight),
  pools: String(world.templates.length),
  ...(sizesIn(state) === '' ? {} : { [sizesValue]: sizesIn(state) }),
});

/**
 * Explains the choice of the pool. The other pools are lighter or dearer, or could not take the
 * first of the pods. It also names the types that size the pool's nodes, if not all types do.
 */
function poolNote(engine: Engine, state: State): Reason {
  const { template } = state;
  const sizes = sizesText(state);
  const { templates } = engine.world;
  const weight = template.pool.weight;
  const shared = { code: 'pool-chosen' as const, subject: template.key };
  const values = poolValues(engine, state);
  if (templates.length === 1)
    return {
      ...shared,
      values,
      message: `${template.key} is the only pool that may open nodes${sizes}`,
    };
  const heavier = templates.filter((other) => other.pool.weight > weight);
  const equal = templates.filter(
    (other) => other !== template && other.pool.weight === weight,
  ).length;
  const bin = heavier.length === 0 ? undefined : engine.fresh.find((one) => one.state === state);
  const [item] = bin?.contents.keys() ?? [];
  const passed =
    item === undefined
      ? []
      : heavier.map(
          (other) =>
            `${other.key} (weight ${other.pool.weight}): ${templateReason(engine, other, item.cls).message}`,
        );
  const why = [
    ...(passed.length > 0
      ? [
          `heavier pools could not take ${item?.cls.pod.namespace}/${item?.cls.pod.name}: ${passed.join('; ')}`,
        ]
      : []),
    equal > 0
      ? `the cheapest of ${equal + 1} pools of weight ${weight} that the plan found`
      : `the ${passed.length > 0 ? 'next' : 'heaviest'} of ${templates.length} pools, of weight ${weight}`,
  ];
  return { ...shared, values, message: `${template.key}: ${why.join('; ')}${sizes}` };
}

/** Returns the requirements that the pods add to those of their pool. */
function asked(state: State, root: State): Requirements {
  const before = new Map(toSpecs(root.requirements).map((spec) => [JSON.stringify(spec), true]));
  const changed = new Set(
    toSpecs(state.requirements)
      .filter((spec) => !before.has(JSON.stringify(spec)))
      .map((spec) => spec.key),
  );
  return new Map([...state.requirements].filter(([key]) => changed.has(key)));
}

function demandNote(state: State, root: State): Reason | undefined {
  const [ofPool, matching] = [typesIn(root.offers), typesIn(state.offers)];
  if (matching === ofPool) return undefined;
  const wanted = asked(state, root);
  const steps = narrowing(root.offers, wanted)
    .steps.filter((step) => step.fell > 0)
    .map(({ what, fell, of }) => `${what} ${fell} of ${of}`)
    .join(', ');
  const values = {
    ...Object.fromEntries([...wanted].map(([key, set]) => [key, describeSet(set)])),
    steps,
  };
  return {
    code: 'requirement-mismatch',
    subject: state.template.key,
    values,
    fell: { count: ofPool - matching, of: ofPool },
    message: `${ofPool - matching} of ${ofPool} types do not meet the pods' requirements: ${steps}`,
  };
}

type Shared = { readonly notes: readonly Reason[]; readonly matching: number };
// Notes that follow from a state alone are made once, because many nodes share a state. Invariant:
// they are made after the plan is complete.
const shared = new WeakMap<State, Shared>();

function sharedOf(engine: Engine, state: State): Shared {
  const known = shared.get(state);
  if (known !== undefined) return known;
  const demanded = demandNote(state, engine.world.states.root(state.template));
  const made = {
    notes: [poolNote(engine, state), ...(demanded === undefined ? [] : [demanded])],
    matching: typesIn(state.offers),
  };
  shared.set(state, made);
  return made;
}

/**
 * Explains a node: why its pool was chosen, how many types its pods' requirements exclude, and how
 * many its size excludes. `options` has the number of its types and the cheapest one.
 */
export function notesOf(
  engine: Engine,
  state: State,
  options: { readonly cheapest: string; readonly count: number },
): readonly Reason[] {
  const { notes, matching } = sharedOf(engine, state);
  const { cheapest, count: stayed } = options;
  if (stayed === matching) return notes;
  const most = engine.world.options.instanceTypesMax;
  const cut = stayed === most ? `, or dearer than the ${most} types that one node may name` : '';
  const small: Reason = {
    code: 'resources-too-large',
    subject: state.template.key,
    values: { stayed: String(stayed), cheapest },
    fell: { count: matching - stayed, of: matching },
    message: `${matching - stayed} of ${matching} types are too small for all pods of the node, or above the pool's limits${cut}; ${stayed} remain`,
  };
  return [...notes, small];
}
