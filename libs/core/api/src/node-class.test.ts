import { describe, expect, test } from 'vitest';

import { aliasFamilies } from './node-class.js';
import { ec2NodeClassOf } from './parse/ec2-node-class.js';
import { ec2 } from './parse/testing/manifests.js';

describe('the families that an alias names', () => {
  test.each(Object.entries(aliasFamilies))('%s is %s, in any case of letters', (alias, family) => {
    for (const name of [alias, alias.toUpperCase()])
      expect(
        ec2NodeClassOf(ec2({ amiSelectorTerms: [{ alias: `${name}@latest` }] })),
      ).toMatchObject({ value: { amiFamily: family } });
  });

  test('do not include Custom, which has no images of its own', () =>
    expect(Object.values(aliasFamilies)).not.toContain('Custom'));
});
