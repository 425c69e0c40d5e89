import type { CatalogEvent } from '@dovetail/contracts';
import { labels } from '@dovetail/core-api';
import { type OfferingIdentity, offeringKey } from '@dovetail/core-ec2-model';

/**
 * The prices of offerings now, from the catalogs that the launcher publishes for solvers. They are
 * those of the region: each class that names an offering says the same, and the last word counts.
 * Those of a lost stream count until it is filled again.
 */
export class PresentPrices {
  /** In micro-dollars an hour, by offering. */
  readonly #prices = new Map<string, number>();
  #revision = 0;

  /** Grows when a price changes, so that what was drawn from the prices can be kept until then. */
  get revision(): number {
    return this.#revision;
  }

  /** Takes in one event of the catalog. */
  apply(event: CatalogEvent): void {
    if (event.kind !== 'class') return;
    for (const { name: instanceType, offerings } of event.part.instanceTypes)
      for (const { zone, capacityType, priceMicrosPerHour } of offerings)
        this.#set(offeringKey({ instanceType, zone, capacityType }), priceMicrosPerHour);
  }

  #set(key: string, priceMicrosPerHour: number): void {
    if (this.#prices.get(key) === priceMicrosPerHour) return;
    this.#prices.set(key, priceMicrosPerHour);
    this.#revision += 1;
  }

  /** The price of the offering that a node's labels name, in micro-dollars an hour. */
  of(held: Readonly<Record<string, string>>): number | undefined {
    const { [labels.instanceType]: instanceType, [labels.zone]: zone } = held;
    const capacityType = held[labels.capacityType];
    if (instanceType === undefined || zone === undefined || capacityType === undefined)
      return undefined;
    const offering = { instanceType, zone, capacityType } as OfferingIdentity;
    return this.#prices.get(offeringKey(offering));
  }
}
