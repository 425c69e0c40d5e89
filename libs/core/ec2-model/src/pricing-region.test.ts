import { expect, test } from 'vitest';

import { pricingRegionOf } from './pricing-region.js';

test.each([
  ['us-gov-west-1', undefined],
  ['us-iso-east-1', undefined],
  ['us-isob-east-1', undefined],
  ['eu-isoe-west-1', undefined],
  ['eusc-de-east-1', undefined],
  ['us-west-2', 'us-east-1'],
  ['sa-east-1', 'us-east-1'],
  ['ap-northeast-1', 'ap-south-1'],
  ['cn-north-1', 'cn-northwest-1'],
  ['eu-west-1', 'eu-central-1'],
])('the prices of %s are asked for in %s', (region, answering) =>
  expect(pricingRegionOf(region)).toBe(answering),
);
