import type { CapacityType, PriceQuote } from '@dovetail/core-ec2-model';
import { messageOf } from '@dovetail/core-ports';

import { InputError } from '../manifests/input-error.js';

/** Karpenter's own prices, a gauge for each type, zone and capacity type. */
const metric = 'karpenter_cloudprovider_instance_type_offering_price_estimate';
const row = new RegExp(`^${metric}\\{(.*)\\} (\\S+)$`);
const timeoutMs = 10_000;

const capacityTypeOf = (text: string | undefined): CapacityType | undefined =>
  text === 'spot' || text === 'on-demand' ? text : undefined;

function quoteOf(line: string): PriceQuote | undefined {
  const [, labels = '', text = ''] = row.exec(line) ?? [];
  const held = new Map(
    [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = '', value = '']) => [key, value]),
  );
  const instanceType = held.get('instance_type');
  const capacityType = capacityTypeOf(held.get('capacity_type'));
  const zone = held.get('zone');
  const priceMicrosPerHour = Math.round(Number(text) * 1e6);
  const isPrice = Number.isSafeInteger(priceMicrosPerHour) && priceMicrosPerHour > 0;
  if (instanceType === undefined || capacityType === undefined || !isPrice) return undefined;
  return {
    instanceType,
    capacityType,
    priceMicrosPerHour,
    estimated: false,
    ...(zone === undefined ? {} : { zone }),
  };
}

/** The prices in Karpenter's metrics. */
export const quotesIn = (exposition: string): readonly PriceQuote[] =>
  exposition.split('\n').flatMap((line) => quoteOf(line) ?? []);

/** Reads Karpenter's prices from its metrics. Throws InputError if there are none. */
export async function pricesAt(url: string): Promise<readonly PriceQuote[]> {
  let text: string;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
    if (!response.ok) throw new Error(`HTTP ${String(response.status)}`);
    text = await response.text();
  } catch (error) {
    throw new InputError(
      `--prices ${url} cannot be read (${messageOf(error)}): run kubectl port-forward deployment/karpenter 8080, or leave the flag out`,
    );
  }
  const quotes = quotesIn(text);
  if (quotes.length === 0)
    throw new InputError(
      `--prices ${url} has no ${metric}: give the address of Karpenter's metrics, or leave the flag out`,
    );
  return quotes;
}
