import { expect, test } from 'vitest';

import { variantFor } from './ami-selection.js';
import { allVariants } from './ami-variant.js';
import { catalogFor } from './catalog.js';

test('the variants are those that some type of the catalog needs, and no others', () =>
  expect(new Set(catalogFor('us-east-1').map(({ facts }) => variantFor(facts)))).toEqual(
    new Set(allVariants),
  ));
