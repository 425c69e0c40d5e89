import { float64At, InvariantError } from '@dovetail/core-invariant';

import type { State } from '../match/states.js';
import type { PodClass } from '../model/classes.js';
import type { Offer } from '../model/templates.js';
import type { Reason } from '../reasons.js';
import type { Engine } from '../rooms/engine.js';
import { shown, shownBeside } from './amounts.js';
import { before, type Step, stepsText, typeNames } from './steps.js';

/**
 * Suggests millicores for a request of a thousand cores or more, which is usually a missing `m`.
 */
const slipOfMilli = (name: string, wanted: number): string =>
  name === 'cpu' && wanted >= 1_000_000 ? '; did you mean millicores (m)?' : '';

/** A resource that none of the remaining types has enough of. */
type Lack = {
  readonly subject: string;
  readonly name: string;
  readonly index: number;
  readonly wanted: number;
  readonly offers: readonly Offer[];
  readonly steps: readonly Step[];
};

/**
 * Returns the reason for a lack. Daemonsets are the cause if a type without them would suffice.
 * Otherwise the pod is too large, or no type has the resource.
 */
function lackReason({ subject, name, index, wanted, offers, steps }: Lack): Reason {
  const largest = Math.max(...offers.map(({ type }) => float64At(type.room, index)));
  const empty = Math.max(
    ...offers.map(({ type }) => float64At(type.room, index) + float64At(type.overhead, index)),
  );
  const beside = (amount: number): string => shownBeside(name, amount, wanted);
  const asks = `the pod asks for ${shown(name, wanted)} ${name}`;
  const fallen = before(steps.slice(0, -1));
  const count = typeNames(offers).size;
  const shared = {
    subject,
    values: {
      resource: name,
      requested: shown(name, wanted),
      largest: beside(largest),
      steps: stepsText(steps),
    },
    fell: { count, of: count },
  };
  const askLess = `ask for at most ${beside(largest)} ${name}, or allow larger types in ${subject}`;
  if (wanted <= empty)
    return {
      code: 'daemonset-overhead',
      ...shared,
      message: `${asks}; beside daemonsets, which take ${beside(empty - largest)}, the largest type of ${subject} has ${beside(largest)}${fallen}`,
      remedy: askLess,
    };
  const none = largest <= 0;
  return {
    code: 'resources-too-large',
    ...shared,
    message: none
      ? `${asks}, which no type of ${subject} that it may use has${fallen}`
      : `${asks}, the largest type of ${subject} that it may use has ${beside(largest)}${fallen}${slipOfMilli(name, wanted)}`,
    remedy: none ? `allow types with ${name} in ${subject}, or drop the request` : askLess,
  };
}

/** Returns the reason for the first resource that excludes the last remaining type. */
export function sizeReason(engine: Engine, state: State, cls: PodClass): Reason {
  const all = typeNames(state.template.offers).size;
  const steps: Step[] = [{ what: 'labels', fell: all - typeNames(state.offers).size, of: all }];
  let { offers } = state;
  for (const [index, name] of engine.world.dimensions.names.entries()) {
    const wanted = float64At(cls.requests, index);
    const left = offers.filter(({ type }) => float64At(type.room, index) >= wanted);
    const of = typeNames(offers).size;
    steps.push({ what: name, fell: of - typeNames(left).size, of });
    if (left.length === 0)
      return lackReason({ subject: state.template.key, name, index, wanted, offers, steps });
    offers = left;
  }
  throw new InvariantError('a class that fits no type lacks some resource on the last of them');
}
