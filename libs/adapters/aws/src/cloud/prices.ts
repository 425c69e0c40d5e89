import { DescribeSpotPriceHistoryCommand, EC2Client } from '@aws-sdk/client-ec2';
import { type Filter, GetProductsCommand, PricingClient } from '@aws-sdk/client-pricing';
import { type PriceQuote, pricingRegionOf } from '@dovetail/core-ec2-model';
import { compareText } from '@dovetail/core-kube-model';
import { CloudError, type Prices } from '@dovetail/core-ports';

import { allPages } from '../calls/paging.js';
import type { AwsSession } from '../calls/session.js';

/**
 * On-demand prices of Linux on shared and dedicated hosts and of bare metal, and the current spot
 * prices. Prices are micros an hour.
 */
export const awsPrices = (session: AwsSession): Prices => ({
  async onDemandPrices() {
    const [shared, dedicated, metal] = await Promise.all([
      products(session, { tenancy: 'Shared', productFamily: 'Compute Instance' }),
      products(session, { tenancy: 'Dedicated', productFamily: 'Compute Instance' }),
      products(session, { tenancy: 'Dedicated', productFamily: 'Compute Instance (bare metal)' }),
    ]);
    // No price at all is a wrong answer. Believing it would take every ordinary type out of the
    // catalog.
    if (shared.size === 0)
      throw new CloudError(
        'unavailable',
        'NoPrices',
        `the Pricing API listed no on-demand price for ${session.connection.region}`,
      );
    // A machine without a hypervisor shares its host with nobody, at one price.
    return [
      ...quotesOf(new Map([...metal, ...shared])),
      ...quotesOf(new Map([...metal, ...dedicated]), 'dedicated'),
    ];
  },
  spotPrices: () => spotPrices(session),
});

const quotesOf = (
  prices: ReadonlyMap<string, ListedPrice>,
  tenancy?: 'dedicated',
): readonly PriceQuote[] =>
  [...prices]
    .sort(([a], [b]) => compareText(a, b))
    .map(([instanceType, { micros, estimated }]) => ({
      instanceType,
      capacityType: 'on-demand',
      ...(tenancy === undefined ? {} : { tenancy }),
      priceMicrosPerHour: micros,
      estimated,
    }));

async function products(
  session: AwsSession,
  kind: { readonly tenancy: string; readonly productFamily: string },
): Promise<ReadonlyMap<string, ListedPrice>> {
  const { calls, connection } = session;
  const answering = pricingRegionOf(connection.region);
  if (answering === undefined)
    throw new CloudError(
      'unavailable',
      'NoPricingApi',
      `the partition of ${connection.region} has no Pricing API`,
    );
  const pricing = session.client(PricingClient, answering);
  const equals = (Field: string, Value: string): Filter => ({ Type: 'TERM_MATCH', Field, Value });
  const Filters = [
    equals('regionCode', connection.region),
    equals('preInstalledSw', 'NA'),
    equals('operatingSystem', 'Linux'),
    equals('capacitystatus', 'Used'),
    equals('marketoption', 'OnDemand'),
    equals('tenancy', kind.tenancy),
    equals('productFamily', kind.productFamily),
  ];
  const lines = await allPages(
    (NextToken) =>
      calls.run('price', 'pricing:GetProducts', () =>
        pricing.send(
          new GetProductsCommand({ ServiceCode: 'AmazonEC2', Filters, NextToken, MaxResults: 100 }),
        ),
      ),
    (page) => ({ items: page.PriceList as readonly unknown[] | undefined, next: page.NextToken }),
  );
  return new Map(lines.map(priceOf).filter((price) => price !== undefined));
}

type ListedPrice = { readonly micros: number; readonly estimated: boolean };
type Product = {
  readonly product?: {
    readonly attributes?: { readonly instanceType?: string; readonly dovetailEstimated?: string };
  };
  readonly terms?: {
    readonly OnDemand?: Readonly<
      Record<
        string,
        {
          readonly priceDimensions?: Readonly<
            Record<string, { readonly pricePerUnit?: Readonly<Record<string, string>> }>
          >;
        }
      >
    >;
  };
};

/** Whether AWS named a price: none is 0, and what is no number or endless is none. */
const isPrice = (micros: number): boolean => Number.isSafeInteger(micros) && micros > 0;

/**
 * Type and price of one line of a price list. Undefined without a price, or with the price 0 that
 * reserved hosts have. China's prices are in yuan.
 */
export function priceOf(line: unknown): readonly [string, ListedPrice] | undefined {
  // The SDK returns lines as String objects that hold JSON.
  const product = (
    typeof line === 'object' && line !== null && 'product' in line ? line : JSON.parse(String(line))
  ) as Product;
  // Only the cloud twin marks prices as estimated, in regions for which it knows none.
  const { instanceType, dovetailEstimated } = product.product?.attributes ?? {};
  const [term] = Object.values(product.terms?.OnDemand ?? {});
  const [dimension] = Object.values(term?.priceDimensions ?? {});
  const text = dimension?.pricePerUnit?.['USD'] ?? dimension?.pricePerUnit?.['CNY'];
  const micros = Math.round(Number(text) * 1e6);
  return instanceType === undefined || !isPrice(micros)
    ? undefined
    : [instanceType, { micros, estimated: dovetailEstimated === 'true' }];
}

/** The current price of every type and zone. Of several answers for one, the newest counts. */
async function spotPrices(session: AwsSession): Promise<readonly PriceQuote[]> {
  const ec2 = session.client(EC2Client);
  const StartTime = new Date(session.clock.nowMs());
  const history = await allPages(
    (NextToken) =>
      session.calls.run('read', 'ec2:DescribeSpotPriceHistory', () =>
        ec2.send(
          new DescribeSpotPriceHistoryCommand({
            StartTime,
            NextToken,
            MaxResults: 1000,
            ProductDescriptions: ['Linux/UNIX', 'Linux/UNIX (Amazon VPC)'],
          }),
        ),
      ),
    (page) => ({ items: page.SpotPriceHistory, next: page.NextToken }),
  );
  const newest = new Map<string, { readonly atMs: number; readonly quote: PriceQuote }>();
  for (const {
    InstanceType: instanceType,
    AvailabilityZone: zone,
    SpotPrice,
    Timestamp,
  } of history) {
    const priceMicrosPerHour = Math.round(Number(SpotPrice) * 1e6);
    if (instanceType === undefined || zone === undefined || !isPrice(priceMicrosPerHour)) continue;
    const key = `${instanceType} ${zone}`;
    const atMs = Timestamp?.getTime() ?? 0;
    if (atMs < (newest.get(key)?.atMs ?? 0)) continue;
    newest.set(key, {
      atMs,
      quote: { instanceType, zone, capacityType: 'spot', priceMicrosPerHour, estimated: false },
    });
  }
  return [...newest].sort(([a], [b]) => compareText(a, b)).map(([, { quote }]) => quote);
}
