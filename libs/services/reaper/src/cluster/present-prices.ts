import type { CatalogEvent, ClassCatalog } from '@dovetail/contracts';
import { labels, type NodePrice } from '@dovetail/core-api';
import { type InstanceType, type OfferingIdentity, offeringKey } from '@dovetail/core-ec2-model';

/** The parts of a revision that is not complete yet, by their number. */
type Arriving = { readonly revision: string; readonly parts: Map<number, ClassCatalog> };

/**
 * The prices of offerings now, from the catalogs that the launcher publishes for solvers. They are
 * those of the region: each class that names an offering says the same, and the last word counts.
 * An offering that no class names any more has no price. Those of a lost stream count until it is
 * filled again.
 */
export class PresentPrices {
  /** In micro-dollars an hour, by offering, of each class. The class that came last is the last. */
  readonly #prices = new Map<string, ReadonlyMap<string, number>>();
  /** The offerings whose price is an estimate, of each class. */
  readonly #estimates = new Map<string, ReadonlySet<string>>();
  /** The types by name, as the class that came last says. */
  readonly #types = new Map<string, Pick<InstanceType, 'requirements'>>();
  readonly #arriving = new Map<string, Arriving>();
  #revision = 0;

  /** Grows when a price changes, so that what was drawn from the prices can be kept until then. */
  get revision(): number {
    return this.#revision;
  }

  /** Whether any class has said its prices. */
  get areKnown(): boolean {
    return this.#prices.size > 0;
  }

  /** Takes in one event of the catalog. */
  apply(event: CatalogEvent): void {
    if (event.kind === 'reset') this.#arriving.clear();
    if (event.kind === 'class-gone' && event.part === 0) this.#replace(event.classUid, []);
    if (event.kind === 'class') this.#arrive(event.part);
  }

  #arrive(part: ClassCatalog): void {
    const { classUid, revision } = part;
    const held = this.#arriving.get(classUid);
    const arriving =
      held?.revision === revision ? held : { revision, parts: new Map<number, ClassCatalog>() };
    this.#arriving.set(classUid, arriving);
    arriving.parts.set(part.part, part);
    if (arriving.parts.size < part.parts) return;
    this.#arriving.delete(classUid);
    this.#replace(
      classUid,
      [...arriving.parts.values()].flatMap(({ instanceTypes }) => instanceTypes),
    );
  }

  #replace(classUid: string, types: readonly InstanceType[]): void {
    const prices = new Map<string, number>();
    const estimates = new Set<string>();
    for (const { name: instanceType, offerings } of types)
      for (const { zone, capacityType, priceMicrosPerHour, priceEstimated } of offerings) {
        const key = offeringKey({ instanceType, zone, capacityType });
        prices.set(key, priceMicrosPerHour);
        if (priceEstimated) estimates.add(key);
      }
    this.#estimates.set(classUid, estimates);
    const before = this.#prices.get(classUid) ?? new Map<string, number>();
    this.#prices.delete(classUid);
    if (types.length > 0) this.#prices.set(classUid, prices);
    for (const { name, requirements } of types) this.#types.set(name, { requirements });
    if (!areSame(before, prices)) this.#revision += 1;
  }

  /** The price of the offering that a node's labels name, in micro-dollars an hour. */
  of(held: Readonly<Record<string, string>>): number | undefined {
    return this.priceOf(held)?.priceMicrosPerHour;
  }

  /** The same, and whether it is an estimate. */
  priceOf(held: Readonly<Record<string, string>>): NodePrice | undefined {
    const { [labels.instanceType]: instanceType, [labels.zone]: zone } = held;
    const capacityType = held[labels.capacityType];
    if (instanceType === undefined || zone === undefined || capacityType === undefined)
      return undefined;
    const key = offeringKey({ instanceType, zone, capacityType } as OfferingIdentity);
    let last: NodePrice | undefined;
    for (const [classUid, prices] of this.#prices) {
      const priceMicrosPerHour = prices.get(key);
      if (priceMicrosPerHour === undefined) continue;
      const priceEstimated = this.#estimates.get(classUid)?.has(key) === true;
      last = { priceMicrosPerHour, priceEstimated };
    }
    return last;
  }

  /** The values of a label that a type implies. Undefined: no class has named the type. */
  valuesOf(instanceType: string, key: string): Iterable<string> | undefined {
    const type = this.#types.get(instanceType);
    return type === undefined ? undefined : (type.requirements.get(key)?.values ?? []);
  }
}

const areSame = (a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): boolean =>
  a.size === b.size && [...a].every(([key, price]) => b.get(key) === price);
