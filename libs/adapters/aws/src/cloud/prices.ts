import { DescribeSpotPriceHistoryCommand } from '@aws-sdk/client-ec2';
import { GetProductsCommand, type Filter } from '@aws-sdk/client-pricing';
import type { PriceQuote } from '@dovetail/core-ec2-model';
import { CloudError, type Clock, type Cloud } from '@dovetail/core-ports';
import type { AwsCalls } from '../calls.js';
import type { AwsClients } from '../clients.js';
import { allPages } from '../paging.js';

type PriceContext = { readonly clients: AwsClients; readonly calls: AwsCalls; readonly clock: Clock; readonly region: string };

/** On-demand prices of Linux on shared hosts and of bare metal, and the current spot prices. */
export const pricesOf = (context: PriceContext): Pick<Cloud, 'onDemandPrices' | 'spotPrices'> => ({
  async onDemandPrices() {
    const [shared, metal] = await Promise.all([
      products(context, { tenancy: 'Shared', productFamily: 'Compute Instance' }),
      products(context, { tenancy: 'Dedicated', productFamily: 'Compute Instance (bare metal)' }),
    ]);
    // An empty half is an answer gone wrong, and taking it would put every metal (or every other) type out of sale.
    if (shared.size === 0) throw new CloudError('unavailable', 'NoPrices', `the Pricing API named no on-demand price for ${context.region}`);
    return [...new Map([...metal, ...shared])].sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([instanceType, { micros, estimated }]) => ({ instanceType, capacityType: 'on-demand', priceMicrosPerHour: micros, estimated }));
  },
  spotPrices: () => spotPrices(context),
});

async function products({ clients, calls, region }: PriceContext, kind: { readonly tenancy: string; readonly productFamily: string }): Promise<ReadonlyMap<string, ListedPrice>> {
  const equals = (Field: string, Value: string): Filter => ({ Type: 'TERM_MATCH', Field, Value });
  const Filters = [
    equals('regionCode', region), equals('preInstalledSw', 'NA'), equals('operatingSystem', 'Linux'),
    equals('capacitystatus', 'Used'), equals('marketoption', 'OnDemand'), equals('tenancy', kind.tenancy), equals('productFamily', kind.productFamily),
  ];
  const lines = await allPages(
    (NextToken) => calls.run('price', 'pricing:GetProducts', () => clients.pricing.send(new GetProductsCommand({ ServiceCode: 'AmazonEC2', Filters, NextToken, MaxResults: 100 }))),
    (page) => ({ items: page.PriceList as readonly unknown[] | undefined, next: page.NextToken }),
  );
  return new Map(lines.map(priceOf).filter((price) => price !== undefined));
}

type ListedPrice = { readonly micros: number; readonly estimated: boolean };
type Product = {
  readonly product?: { readonly attributes?: { readonly instanceType?: string; readonly dovetailEstimated?: string } };
  readonly terms?: { readonly OnDemand?: Readonly<Record<string, { readonly priceDimensions?: Readonly<Record<string, { readonly pricePerUnit?: Readonly<Record<string, string>> }>> }>> };
};

/** Type and price of one line of a price list; undefined when it names none, or 0 (reserved hosts are listed so). China is priced in yuan. */
export function priceOf(line: unknown): readonly [string, ListedPrice] | undefined {
  // The SDK hands lines over as String objects that hold JSON.
  const product = (typeof line === 'object' && line !== null && 'product' in line ? line : JSON.parse(String(line))) as Product;
  // Only the cloud twin marks prices so: it has none of its region's own.
  const { instanceType, dovetailEstimated } = product.product?.attributes ?? {};
  const [term] = Object.values(product.terms?.OnDemand ?? {});
  const [dimension] = Object.values(term?.priceDimensions ?? {});
  const text = dimension?.pricePerUnit?.['USD'] ?? dimension?.pricePerUnit?.['CNY'];
  const micros = Math.round(Number(text) * 1e6);
  return instanceType === undefined || !(micros > 0) ? undefined : [instanceType, { micros, estimated: dovetailEstimated === 'true' }];
}

/** The price in force now, for every type and zone; of several answers for one, the newest. */
async function spotPrices({ clients, calls, clock }: PriceContext): Promise<readonly PriceQuote[]> {
  const StartTime = new Date(clock.nowMs());
  const history = await allPages(
    (NextToken) => calls.run('read', 'ec2:DescribeSpotPriceHistory', () => clients.ec2.send(new DescribeSpotPriceHistoryCommand({
      StartTime, NextToken, MaxResults: 1000, ProductDescriptions: ['Linux/UNIX', 'Linux/UNIX (Amazon VPC)'],
    }))),
    (page) => ({ items: page.SpotPriceHistory, next: page.NextToken }),
  );
  const newest = new Map<string, { readonly atMs: number; readonly quote: PriceQuote }>();
  for (const { InstanceType: instanceType, AvailabilityZone: zone, SpotPrice, Timestamp } of history) {
    const priceMicrosPerHour = Math.round(Number(SpotPrice) * 1e6);
    if (instanceType === undefined || zone === undefined || !(priceMicrosPerHour > 0)) continue;
    const key = `${instanceType} ${zone}`;
    const atMs = Timestamp?.getTime() ?? 0;
    if (atMs < (newest.get(key)?.atMs ?? 0)) continue;
    newest.set(key, { atMs, quote: { instanceType, zone, capacityType: 'spot', priceMicrosPerHour, estimated: false } });
  }
  return [...newest].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, { quote }]) => quote);
}
