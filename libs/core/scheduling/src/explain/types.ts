import { poolKey, restrictedLabel } from '@dovetail/core-api';
import { describeSet, formatResources, intersectRequirements, type RequirementMismatch, type Requirements } from '@dovetail/core-kube-model';
import type { Engine } from '../build/engine.js';
import type { State } from '../match/states.js';
import type { PodClass } from '../model/classes.js';
import { intersects } from '../model/daemons.js';
import type { Shape } from '../model/shapes.js';
import { admitsOffering, type Offer, type Template } from '../model/templates.js';
import type { Reason } from '../plan.js';
import type { PoolOptions } from '../snapshot.js';
import { closest, closestOffered } from './hints.js';

const typeNames = (offers: readonly Offer[]): ReadonlySet<string> => new Set(offers.map(({ type }) => type.type.name));

/** One constraint after the other, and how many types fell at each. */
type Step = { readonly what: string; readonly fell: number; readonly of: number };
const stepsText = (steps: readonly Step[]): string => steps.filter((step) => step.fell > 0).map(({ what, fell, of }) => `${what} ${fell} of ${of}`).join(', ');
/** The steps before the last, for a sentence. */
const before = (steps: readonly Step[]): string => (steps.some((step) => step.fell > 0) ? ` (types that fell before: ${stepsText(steps)})` : '');

function offersThatMeet(offers: readonly Offer[], wanted: Requirements): readonly Offer[] {
  const types = new Map<Offer['type'], boolean>();
  return offers.filter(({ type, offering }) => {
    const fits = types.get(type) ?? intersects(type.type.requirements, wanted);
    types.set(type, fits);
    return fits && admitsOffering(wanted, offering);
  });
}

/** How the requirements of a pod or bin narrow a pool's offers, key by key in the order of names. */
export function narrowing(from: readonly Offer[], requirements: Requirements): { readonly steps: readonly Step[]; readonly ended?: string } {
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

/** What `compatible` says is offered where a label is not defined. */
const undefinedLabel = 'label not defined';

/** The values of a key that offers have. */
function offeredValues(offers: readonly Offer[], key: string): string {
  const values = [...new Set(offers.flatMap(({ type }) => [...(type.type.requirements.get(key)?.values ?? [])]))].sort();
  return `In [${[...values.slice(0, 12), ...(values.length > 12 ? [`… ${values.length - 12} more`] : [])].join(', ')}]`;
}

type Mismatched = { readonly mismatch: RequirementMismatch; readonly offers: readonly Offer[]; readonly steps: readonly Step[]; readonly keys: Iterable<string> };

/** What somebody probably meant: a value that is offered, or a label that is defined. */
function hintFor({ mismatch, offers, keys }: Mismatched): string | undefined {
  if (mismatch.offered === undefinedLabel) return closest(mismatch.key, keys);
  return closestOffered(mismatch, new Set(offers.flatMap(({ type }) => [...(type.type.requirements.get(mismatch.key)?.values ?? [])])));
}

/** A label whose wanted values the pool, or no type that is left of it, has. */
export function mismatchReason(subject: string, what: Mismatched): Reason {
  const { mismatch: { key, wanted, offered }, offers, steps } = what;
  const last = steps.at(-1);
  const count = last?.fell ?? typeNames(offers).size;
  const restricted = offered === undefinedLabel ? restrictedLabel(key) : undefined;
  const shared = { subject, values: { key, wanted, offered, ...(steps.length > 1 ? { steps: stepsText(steps) } : {}) }, fell: { count, of: last?.of ?? count } };
  if (restricted !== undefined) {
    return { code: 'restricted-label', ...shared, message: `the pod wants ${key} ${wanted}, which no new node of ${subject} may promise`, remedy: `drop ${key} from the pod` };
  }
  const hint = hintFor(what);
  return {
    code: 'requirement-mismatch', ...shared,
    message: `the pod wants ${key} ${wanted}, ${subject} offers ${offered}${before(steps.slice(0, -1))}${hint === undefined ? '' : `; did you mean ${hint}?`}`,
    remedy: hint === undefined ? `let ${subject} offer ${key} ${wanted}, or drop it from the pod` : `write ${hint}`,
  };
}

/** The first of the pod's labels at which the last type of a pool falls. */
export function typeReason(template: Template, shape: Shape): Reason {
  const subject = template.key;
  const alone = [...shape.requirements].find(([key, set]) => narrowing(template.offers, new Map([[key, set]])).ended !== undefined);
  // A label that no type has is the plainest answer; else it is several labels together.
  const { steps, ended } = narrowing(template.offers, alone === undefined ? shape.requirements : new Map([alone]));
  const set = ended === undefined ? undefined : shape.requirements.get(ended);
  if (alone !== undefined && ended !== undefined && set !== undefined) {
    return mismatchReason(subject, { mismatch: { key: ended, wanted: describeSet(set), offered: offeredValues(template.offers, ended) }, offers: template.offers, steps, keys: [] });
  }
  const keys = (ended === undefined ? [...shape.requirements.keys()].sort() : steps.map((step) => step.what)).join(', ');
  const last = steps.at(-1);
  return {
    code: 'no-offering', subject, values: { keys, steps: stepsText(steps) }, fell: { count: last?.fell ?? 0, of: last?.of ?? 0 },
    message: `no type of ${subject} meets all of ${keys} in a zone and capacity type that can be bought; types that fell: ${stepsText(steps)}`, remedy: `drop one of ${keys} from the pod`,
  };
}

const dollars = (micros: number): string => `$${(micros / 1_000_000).toFixed(6).replace(/0{1,4}$/, '')}/h`;

/** Why a pool has no offers at all. */
export function noOfferReason(engine: Engine, template: Template): Reason {
  const subject = template.key;
  const options = engine.world.snapshot.pools.find(({ pool }) => poolKey(pool.identity) === subject) as PoolOptions;
  const cap = template.pool.maxPriceMicrosPerHour;
  const of = options.instanceTypes.length;
  const matching = options.instanceTypes.filter((type) => intersects(type.requirements, template.requirements));
  const available = matching.filter((type) => type.offerings.some((offering) => offering.available && admitsOffering(template.requirements, offering)));
  if (of === 0) return { code: 'no-offering', subject, values: { types: '0' }, fell: { count: 0, of }, message: `the class of ${subject} can boot no instance types`, remedy: `give the class of ${subject} subnets and images` };
  if (matching.length === 0) return { code: 'no-offering', subject, values: { types: String(of) }, fell: { count: of, of }, message: `${subject} admits none of the ${of} types that its class can boot`, remedy: `widen the requirements of ${subject}` };
  if (available.length === 0) return { code: 'no-capacity', subject, values: { types: String(matching.length) }, fell: { count: matching.length, of: matching.length }, message: `no type of ${subject} can be bought now: out of capacity, without a subnet or without a price`, remedy: `let ${subject} use more types, zones or capacity types` };
  const prices = available.flatMap((type) => type.offerings.filter((one) => one.available && admitsOffering(template.requirements, one)).map((one) => one.priceMicrosPerHour));
  const cheapest = Math.min(...prices);
  if (cap !== undefined && cheapest > cap) {
    return { code: 'price-cap', subject, values: { cap: String(cap), cheapest: String(cheapest) }, fell: { count: available.length, of: available.length }, message: `every type of ${subject} costs more than its cap of ${dollars(cap)}; the cheapest is ${dollars(cheapest)}`, remedy: `raise the cap of ${subject} to ${dollars(cheapest)}` };
  }
  return { code: 'daemonset-overhead', subject, values: { types: String(available.length) }, fell: { count: available.length, of: available.length }, message: `daemonsets alone do not fit on any of the ${available.length} types of ${subject}`, remedy: `let ${subject} use larger types, or make the daemonsets smaller` };
}

const shown = (name: string, amount: number): string => formatResources({ [name]: Math.max(0, amount) })[name] ?? String(amount);

/** A number of cores that somebody meant as millicores: a million millicores are a thousand cores. */
const slipOfMilli = (name: string, wanted: number): string => (name === 'cpu' && wanted >= 1_000_000 ? '; did you mean millicores (m)?' : '');

/** The first resource at which the last type falls, resource by resource, and whether the daemonsets are to blame. */
export function sizeReason(engine: Engine, state: State, cls: PodClass): Reason {
  const subject = state.template.key;
  const steps: Step[] = [{ what: 'labels', fell: typeNames(state.template.offers).size - typeNames(state.offers).size, of: typeNames(state.template.offers).size }];
  let offers = state.offers;
  for (const [index, name] of engine.world.dimensions.names.entries()) {
    const wanted = cls.requests[index] ?? 0;
    const left = offers.filter(({ type }) => (type.room[index] ?? 0) >= wanted);
    const of = typeNames(offers).size;
    steps.push({ what: name, fell: of - typeNames(left).size, of });
    if (left.length > 0) { offers = left; continue; }
    const largest = Math.max(...offers.map(({ type }) => type.room[index] ?? 0));
    const empty = Math.max(...offers.map(({ type }) => (type.room[index] ?? 0) + (type.overhead[index] ?? 0)));
    const asks = `the pod asks for ${shown(name, wanted)} ${name}`;
    const shared = { subject, values: { resource: name, requested: shown(name, wanted), largest: shown(name, largest), steps: stepsText(steps) }, fell: { count: of, of } };
    if (wanted <= empty) return { code: 'daemonset-overhead', ...shared, message: `${asks}; beside daemonsets, which take ${shown(name, empty - largest)}, the largest type of ${subject} has ${shown(name, largest)}${before(steps.slice(0, -1))}`, remedy: `ask for at most ${shown(name, largest)} ${name}, or allow larger types in ${subject}` };
    if (largest <= 0) return { code: 'resources-too-large', ...shared, message: `${asks}, which no type of ${subject} that it may use has${before(steps.slice(0, -1))}`, remedy: `allow types with ${name} in ${subject}, or drop the request` };
    return { code: 'resources-too-large', ...shared, message: `${asks}, the largest type of ${subject} that it may use has ${shown(name, largest)}${before(steps.slice(0, -1))}${slipOfMilli(name, wanted)}`, remedy: `ask for at most ${shown(name, largest)} ${name}, or allow larger types in ${subject}` };
  }
  throw new Error(`every resource of class ${cls.index} fits some type of ${subject}`);
}
