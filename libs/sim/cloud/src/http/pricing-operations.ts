import { lookUp } from '@dovetail/core-invariant';

import type { TwinType } from '../foundation/account.js';
import { AwsFault, NotServedFault } from '../foundation/aws-fault.js';
import { hexOf } from '../foundation/digest.js';
import { dedicatedPriceOf } from '../foundation/prices.js';
import type { CloudTwin } from '../twin/cloud-twin.js';
import { integerIn, objectsIn, refuseOthers, requiredText, textIn } from './json-fields.js';
import type { JsonObject, JsonOperations } from './operation.js';
import { offsetOf, slice } from './paging.js';

type Product = {
  readonly productFamily: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly sku: string;
  readonly priceMicros: number;
};

/**
 * The on-demand, Linux, nothing-preinstalled products of a type, for shared and dedicated
 * tenancy.
 */
function productsOf(twin: CloudTwin, type: TwinType): readonly Product[] {
  const { facts, onDemandPriceMicros } = type;
  if (onDemandPriceMicros === undefined) return [];
  return ['Shared', 'Dedicated'].map((tenancy) => ({
    productFamily: facts.bareMetal ? 'Compute Instance (bare metal)' : 'Compute Instance',
    sku: hexOf(16, twin.account.region, facts.name, tenancy).toUpperCase(),
    priceMicros:
      tenancy === 'Shared' ? onDemandPriceMicros : dedicatedPriceOf(type, onDemandPriceMicros),
    attributes: {
      servicecode: 'AmazonEC2',
      regionCode: twin.account.region,
      locationType: 'AWS Region',
      instanceType: facts.name,
      tenancy,
      operatingSystem: 'Linux',
      preInstalledSw: 'NA',
      capacitystatus: 'Used',
      marketoption: 'OnDemand',
      operation: 'RunInstances',
      licenseModel: 'No License required',
      vcpu: String(facts.vcpus),
      memory: `${facts.memoryMib / 1024} GiB`,
      currentGeneration: 'Yes',
      // AWS has no such attribute. It marks a price that stands in for one that is not published
      // for offline use.
      ...(type.priceEstimated === true || (tenancy === 'Dedicated' && !facts.bareMetal)
        ? { dovetailEstimated: 'true' }
        : {}),
    },
  }));
}

// Prices are constant, and a client reads them in dozens of pages.
const listed = new WeakMap<CloudTwin, readonly Product[]>();

function allProducts(twin: CloudTwin): readonly Product[] {
  const made = listed.get(twin) ?? twin.account.types.flatMap((type) => productsOf(twin, type));
  listed.set(twin, made);
  return made;
}

/** One entry of the price list, as the text that the API answers. */
function priceListText({ productFamily, attributes, sku, priceMicros }: Product): string {
  const [offer, rate] = [`${sku}.JRTCKXETXF`, `${sku}.JRTCKXETXF.6YS6EN2CT7`];
  const dimension = {
    unit: 'Hrs',
    endRange: 'Inf',
    beginRange: '0',
    rateCode: rate,
    appliesTo: [],
    pricePerUnit: { USD: (priceMicros / 1_000_000).toFixed(10) },
    description: `per On Demand Linux ${attributes['instanceType'] ?? ''} Instance Hour`,
  };
  return JSON.stringify({
    product: { productFamily, attributes, sku },
    serviceCode: 'AmazonEC2',
    version: '20261101000000',
    publicationDate: '2026-11-01T00:00:00Z',
    terms: {
      OnDemand: {
        [offer]: {
          priceDimensions: { [rate]: dimension },
          sku,
          effectiveDate: '2026-11-01T00:00:00Z',
          offerTermCode: 'JRTCKXETXF',
          termAttributes: {},
        },
      },
    },
  });
}

/** The service code may be written in several ways, as clients do write it. */
const attributeOf = ({ attributes }: Product, field: string): string | undefined =>
  field.toLowerCase() === 'servicecode' ? attributes['servicecode'] : lookUp(attributes, field);

function fits(product: Product, filters: readonly JsonObject[]): boolean {
  return filters.every((filter) => {
    const [type, field, value] = [
      requiredText(filter, 'Type'),
      requiredText(filter, 'Field'),
      requiredText(filter, 'Value'),
    ];
    if (type !== 'TERM_MATCH')
      throw new NotServedFault(
        'InvalidParameterException',
        `Filter type ${type} is not served here; use TERM_MATCH`,
      );
    const actual = field === 'productFamily' ? product.productFamily : attributeOf(product, field);
    return actual?.toLowerCase() === value.toLowerCase();
  });
}

/** The Price List service: on-demand prices of the account's region. */
export const pricingOperations: JsonOperations = {
  GetProducts: (twin, input) => {
    refuseOthers(input, ['ServiceCode', 'Filters', 'FormatVersion', 'NextToken', 'MaxResults']);
    const service = requiredText(input, 'ServiceCode');
    if (service !== 'AmazonEC2')
      throw new NotServedFault(
        'InvalidParameterException',
        `Service code ${service} is not served here; use AmazonEC2`,
      );
    const size = integerIn(input, 'MaxResults') ?? 100;
    if (size < 1 || size > 100)
      throw new AwsFault(
        'InvalidParameterException',
        `MaxResults ${size} is out of range; use 1 to 100`,
      );
    const filters = objectsIn(input, 'Filters');
    const found = allProducts(twin).filter((product) => fits(product, filters));
    const { page, nextToken } = slice(found, offsetOf(textIn(input, 'NextToken')), size);
    return {
      FormatVersion: 'aws_v1',
      PriceList: page.map(priceListText),
      ...(nextToken === undefined ? {} : { NextToken: nextToken }),
    };
  },
};
