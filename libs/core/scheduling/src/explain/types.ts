import { labels, restrictedLabel } from '@dovetail/core-api';
import {
  describeSet,
  intersectRequirements,
  type RequirementMismatch,
  type Requirements,
} from '@dovetail/core-kube-model';

import { intersects } from '../model/daemons.js';
import type { Shape } from '../model/shapes.js';
import type { Offer, Template } from '../model/templates.js';
import { admitsOffering } from '../model/type-rooms.js';
import type { Reason } from '../reasons.js';
import { closest, closestOffered } from './hints.js';
import { before, type Step, stepsText, typeNames } from './steps.js';

function offersThatMeet(offers: readonly Offer[], wanted: Requirements): readonly Offer[] {
  const types = new Map<Offer['type'], boolean>();
  return offers.filter(({ type, offering }) => {
    const fits = types.get(type) ?? intersects(type.type.requirements, wanted);
    types.set(type, fits);
    return fits && admitsOffering(wanted, offering);
  });
}

/**
 * Narrows a pool's offers by the requirements of a pod or bin, key by key in the order of names.
 * `ended` is the key that excludes the last type.
 */
export function narrowing(
  from: readonly Offer[],
  requirements: Requirements,
): { readonly steps: readonly Step[]; readonly ended?: string } {
  const steps: Step[] = [];
  let offers = from;
  let met: Requirements = new Map();
  for (const key of [...requirements.keys()].sort()) {
    const set = requirements.get(key);
    if (set === undefined) continue;
    met = intersectRequirements(met, new Map([[key, set]]));
    const left = offersThatMeet(offers, met);
    const of = typeNames(offers).size;
    steps.push({ what: key, fell: of - typeNames(left).size, of });
    if (left.length === 0) return { steps, ended: key };
    offers = left;
  }
  return { steps };
}

/** The text that `compatible` gives as offered if a label is not defined. */
const undefinedLabel = 'label not defined';

/** Lists the values of a key that offers have. */
function offeredValues(offers: readonly Offer[], key: string): string {
  const values = [
    ...new Set(offers.flatMap(({ type }) => [...(type.type.requirements.get(key)?.values ?? [])])),
  ].sort();
  return `In [${[...values.slice(0, 12), ...(values.length > 12 ? [`… ${values.length - 12} more`] : [])].join(', ')}]`;
}

type Mismatched = {
  readonly mismatch: RequirementMismatch;
  readonly offers: readonly Offer[];
  readonly steps: readonly Step[];
  readonly keys: Iterable<string>;
};

/** Returns a probable correction: a value that is offered, or a label that is defined. */
function hintFor({ mismatch, offers, keys }: Mismatched): string | undefined {
  if (mismatch.offered === undefinedLabel) return closest(mismatch.key, keys);
  return closestOffered(
    mismatch,
    new Set(
      offers.flatMap(({ type }) => [...(type.type.requirements.get(mismatch.key)?.values ?? [])]),
    ),
  );
}

/**
 * Returns the reason for a label whose wanted values neither the pool nor the remaining types have.
 */
export function mismatchReason(subject: string, what: Mismatched): Reason {
  const {
    mismatch: { key, wanted },
    offers,
    steps,
  } = what;
  const offered = key === labels.hostname ? undefinedLabel : what.mismatch.offered;
  const last = steps.at(-1);
  const count = last?.fell ?? typeNames(offers).size;
  const restricted = offered === undefinedLabel ? restrictedLabel(key) : undefined;
  const shared = {
    subject,
    values: { key, wanted, offered, ...(steps.length > 1 ? { steps: stepsText(steps) } : {}) },
    fell: { count, of: last?.of ?? count },
  };
  if (restricted !== undefined) {
    return {
      code: 'restricted-label',
      ...shared,
      message: `the pod wants ${key} ${wanted}, which no new node of ${subject} may promise`,
      remedy: `drop ${key} from the pod`,
    };
  }
  const hint = hintFor(what);
  return {
    code: 'requirement-mismatch',
    ...shared,
    message: `the pod wants ${key} ${wanted}, ${subject} offers ${offered}${before(steps.slice(0, -1))}${hint === undefined ? '' : `; did you mean ${hint}?`}`,
    remedy:
      hint === undefined
        ? `let ${subject} offer ${key} ${wanted}, or drop it from the pod`
        : `write ${hint}`,
  };
}

/** Returns the first label of a pod that excludes the last type of a pool. */
export function typeReason(template: Template, shape: Shape): Reason {
  const subject = template.key;
  const alone = [...shape.requirements].find(
    ([key, set]) => narrowing(template.offers, new Map([[key, set]])).ended !== undefined,
  );
  // One label that no type has is the plainest reason. Otherwise several labels exclude all types
  // together.
  const { steps, ended } = narrowing(
    template.offers,
    alone === undefined ? shape.requirements : new Map([alone]),
  );
  const set = ended === undefined ? undefined : shape.requirements.get(ended);
  if (alone !== undefined && ended !== undefined && set !== undefined) {
    return mismatchReason(subject, {
      mismatch: {
        key: ended,
        wanted: describeSet(set),
        offered: offeredValues(template.offers, ended),
      },
      offers: template.offers,
      steps,
      keys: [],
    });
  }
  const keys = (
    ended === undefined ? [...shape.requirements.keys()].sort() : steps.map((step) => step.what)
  ).join(', ');
  const last = steps.at(-1);
  return {
    code: 'no-offering',
    subject,
    values: { keys, steps: stepsText(steps) },
    fell: { count: last?.fell ?? 0, of: last?.of ?? 0 },
    message: `no type of ${subject} meets all of ${keys} in a zone and capacity type that can be bought; types excluded: ${stepsText(steps)}`,
    remedy: `drop one of ${keys} from the pod`,
  };
}
