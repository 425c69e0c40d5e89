import {
  canonicalJson,
  catalogFor,
  catalogPriceRegion,
  catalogRegions,
  type PriceBook,
  priceBookOf,
  type PriceQuote,
  pricingRegionOf,
} from '@dovetail/core-ec2-model';
import { type Hash, type Log, messageOf, type Prices } from '@dovetail/core-ports';

import type { LauncherConfig } from '../config.js';

/** The prices as they are believed. The revision names the content. */
type Believed = {
  readonly quotes: readonly PriceQuote[];
  readonly prices: PriceBook;
  readonly revision: string;
};

/** The capacity types that AWS lists prices of. */
type ListedType = 'on-demand' | 'spot';

/** The means to learn prices. */
type RegionPricesDeps = { readonly cloud: Prices; readonly hash: Hash; readonly log: Log };

/**
 * The prices of the region. Bundled on-demand prices, marked as estimated, stand in until the
 * Pricing API has answered once.
 */
export class RegionPrices {
  readonly #deps: RegionPricesDeps;
  readonly #config: Pick<LauncherConfig, 'region' | 'isolatedVpc'>;
  #believed: Believed | undefined;
  /** Whether the bundled prices stand in. */
  #bundled = false;
  /** Whether the last question for spot prices failed. */
  #withoutSpot = false;

  constructor(deps: RegionPricesDeps, config: Pick<LauncherConfig, 'region' | 'isolatedVpc'>) {
    this.#deps = deps;
    this.#config = config;
  }

  /** Undefined until prices were asked for once. */
  get believed(): Pick<Believed, 'prices' | 'revision'> | undefined {
    return this.#believed;
  }

  /**
   * Asks for all prices. Rejects when the Pricing API did not answer; then those stand that were
   * known before, or the bundled ones. Where that API is out of reach it is not asked: in an
   * isolated VPC, and in a partition without it.
   */
  async read(): Promise<void> {
    const { region, isolatedVpc } = this.#config;
    const isReachable = !isolatedVpc && pricingRegionOf(region) !== undefined;
    const [onDemand] = await Promise.allSettled([
      isReachable ? this.#listed('on-demand') : undefined,
    ]);
    const spot = await this.#readSpot();
    if (onDemand.status === 'fulfilled' && onDemand.value !== undefined) {
      const standing = this.#bundled
        ? onDemand.value
        : this.#withVanished('on-demand', onDemand.value);
      this.#bundled = false;
      return this.#believe([...standing, ...spot]);
    }
    if (this.#bundled || this.#believed === undefined)
      this.#believe([...this.#standIn(), ...(isInDollars(region) ? spot : [])]);
    else this.#believe([...this.#held('on-demand'), ...spot]);
    if (onDemand.status === 'rejected') throw onDemand.reason;
  }

  /** Rejects an empty list: every region sells something, so AWS has not answered the question. */
  async #listed(capacityType: ListedType): Promise<readonly PriceQuote[]> {
    const { cloud } = this.#deps;
    const quotes =
      capacityType === 'spot' ? await cloud.spotPrices() : await cloud.onDemandPrices();
    if (quotes.length > 0) return quotes;
    throw new Error(
      `AWS lists no ${capacityType} price of ${this.#config.region}: an empty list is not believed`,
    );
  }

  /**
   * The listed prices, with the known ones that the list lacks, marked as estimated. AWS asks for
   * each kind of host by itself and answers in pages, and an empty or missing answer must not take
   * types out of sale.
   */
  #withVanished(capacityType: ListedType, listed: readonly PriceQuote[]): readonly PriceQuote[] {
    const keys = new Set(listed.map(keyOf));
    const vanished = this.#held(capacityType).filter((quote) => !keys.has(keyOf(quote)));
    if (vanished.length > 0)
      this.#deps.log.warn(
        'prices-vanished',
        `AWS no longer lists ${vanished.length} ${capacityType} prices of ${this.#config.region}: they stand as they were, marked as estimated`,
        { types: vanished.slice(0, 20).map(({ instanceType }) => instanceType) },
      );
    return [...listed, ...vanished.map((quote) => ({ ...quote, estimated: true }))];
  }

  async #readSpot(): Promise<readonly PriceQuote[]> {
    try {
      const spot = this.#withVanished('spot', await this.#listed('spot'));
      this.#withoutSpot = false;
      return spot;
    } catch (error) {
      const held = this.#held('spot');
      const standIn = held.length > 0 ? 'the former ones' : 'on-demand prices';
      this.#deps.log[this.#withoutSpot ? 'debug' : 'warn'](
        'spot-prices-missing',
        `spot prices could not be read (${messageOf(error)}); ${standIn} stand in for them`,
        { error: String(error) },
      );
      this.#withoutSpot = true;
      return held;
    }
  }

  /** The prices of this kind that were known before. */
  #held(capacityType: PriceQuote['capacityType']): readonly PriceQuote[] {
    return (this.#believed?.quotes ?? []).filter((quote) => quote.capacityType === capacityType);
  }

  /** The bundled prices. It says once whose they are. */
  #standIn(): readonly PriceQuote[] {
    const { region } = this.#config;
    if (!this.#bundled)
      this.#deps.log.warn(
        'prices-bundled',
        `the on-demand prices of ${region} are not known: bundled ones of ${catalogPriceRegion}, in US dollars and marked as estimated, stand in`,
        { region, pricesOf: catalogPriceRegion },
      );
    this.#bundled = true;
    return bundledPrices(region);
  }

  #believe(quotes: readonly PriceQuote[]): void {
    const revision = this.#deps.hash.sha256Hex(canonicalJson(quotes)).slice(0, 12);
    this.#believed = { quotes, prices: priceBookOf(quotes), revision };
  }
}

const keyOf = ({ instanceType, tenancy, zone }: PriceQuote): string =>
  `${instanceType} ${tenancy ?? 'shared'} ${zone ?? ''}`;

/**
 * AWS sells in China for yuan. Spot prices in yuan cannot be compared with bundled prices in
 * dollars.
 */
const isInDollars = (region: string): boolean => !region.startsWith('cn-');

/** The catalog's on-demand prices, marked as estimated: they may be old, or another region's. */
function bundledPrices(region: string): readonly PriceQuote[] {
  const known = catalogRegions().includes(region) ? region : catalogPriceRegion;
  return catalogFor(known).flatMap(({ facts, onDemandPriceMicrosPerHour: priceMicrosPerHour }) =>
    priceMicrosPerHour === undefined
      ? []
      : [
          {
            instanceType: facts.name,
            capacityType: 'on-demand' as const,
            priceMicrosPerHour,
            estimated: true,
          },
        ],
  );
}
