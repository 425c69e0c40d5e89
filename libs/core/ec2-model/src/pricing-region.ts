/** Partitions whose credentials no Pricing API accepts; Karpenter leaves out GovCloud, too. */
const withoutPricing = /^(us-gov-|us-iso|eu-iso|eusc-)/;

/**
 * The region whose Pricing API answers for a region: it answers in a few, for all of their
 * partition. The nearest one, as Karpenter chooses it. Undefined for a partition without that API.
 */
export function pricingRegionOf(region: string): string | undefined {
  if (withoutPricing.test(region)) return undefined;
  if (region.startsWith('ap-')) return 'ap-south-1';
  if (region.startsWith('cn-')) return 'cn-northwest-1';
  return region.startsWith('eu-') ? 'eu-central-1' : 'us-east-1';
}
