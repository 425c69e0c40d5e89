import { describe, expect, test } from 'vitest';

import { aliasOf, amiQueriesOf } from './ami-queries.js';

const names = (
  family: Parameters<typeof amiQueriesOf>[0]['amiFamily'],
  alias: string,
  version = '1.32',
) => {
  const answer = amiQueriesOf({ amiFamily: family, amiSelectorTerms: [{ alias }] }, version);
  return answer.ok
    ? answer.queries.map((query) => (query.kind === 'parameter' ? query.name : ''))
    : answer.message;
};

describe('where images are looked up', () => {
  test('AL2023 has an image for each architecture and driver', () => {
    expect(names('AL2023', 'al2023@latest')).toEqual([
      '/aws/service/eks/optimized-ami/1.32/amazon-linux-2023/x86_64/standard/recommended/image_id',
      '/aws/service/eks/optimized-ami/1.32/amazon-linux-2023/arm64/standard/recommended/image_id',
      '/aws/service/eks/optimized-ami/1.32/amazon-linux-2023/x86_64/nvidia/recommended/image_id',
      '/aws/service/eks/optimized-ami/1.32/amazon-linux-2023/arm64/nvidia/recommended/image_id',
      '/aws/service/eks/optimized-ami/1.32/amazon-linux-2023/x86_64/neuron/recommended/image_id',
    ]);
  });
  test.each([
    [
      'AL2',
      'al2@v20250601',
      '/aws/service/eks/optimized-ami/1.32/amazon-linux-2/amazon-eks-node-1.32-v20250601/image_id',
    ],
    [
      'AL2',
      'al2@latest',
      '/aws/service/eks/optimized-ami/1.32/amazon-linux-2/recommended/image_id',
    ],
    [
      'AL2023',
      'al2023@v20250601',
      '/aws/service/eks/optimized-ami/1.32/amazon-linux-2023/x86_64/standard/amazon-eks-node-al2023-x86_64-standard-1.32-v20250601/image_id',
    ],
    [
      'Bottlerocket',
      'bottlerocket@v1.45.0',
      '/aws/service/bottlerocket/aws-k8s-1.32/x86_64/1.45.0/image_id',
    ],
    [
      'Windows2022',
      'windows2022@latest',
      '/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.32/image_id',
    ],
  ] as const)('%s by %s begins with %s', (family, alias, first) =>
    expect(names(family, alias)[0]).toBe(first),
  );

  test('AL2 ends with Kubernetes 1.32, Windows 2025 begins with 1.35, and both say what to use instead', () => {
    expect(names('AL2', 'al2@latest', '1.33')).toMatch(
      /no Amazon Linux 2 image for Kubernetes 1.33; use alias al2023@latest/,
    );
    expect(names('Windows2025', 'windows2025@latest', '1.34')).toMatch(/from Kubernetes 1.35 on/);
  });

  test('a legacy class that selects nothing boots its family’s latest image', () =>
    expect(aliasOf({ amiFamily: 'AL2', amiSelectorTerms: [] })).toEqual({
      family: 'AL2',
      version: 'latest',
    }));

  test('selector terms: ids share a call, a name alone means own and Amazon’s images, a parameter is read', () => {
    const answer = amiQueriesOf(
      {
        amiFamily: 'Custom',
        amiSelectorTerms: [
          { id: 'ami-2' },
          { name: 'golden-*' },
          { id: 'ami-1' },
          { tags: { team: 'x' }, owner: '123456789012' },
          { ssmParameter: '/mine' },
        ],
      },
      '1.34',
    );
    expect(answer).toEqual({
      ok: true,
      queries: [
        { kind: 'images', ids: ['ami-1', 'ami-2'], filters: [] },
        {
          kind: 'images',
          owners: ['self', 'amazon'],
          filters: [
            { name: 'state', values: ['available'] },
            { name: 'name', values: ['golden-*'] },
          ],
        },
        {
          kind: 'images',
          owners: ['123456789012'],
          filters: [
            { name: 'state', values: ['available'] },
            { name: 'tag:team', values: ['x'] },
          ],
        },
        { kind: 'parameter', name: '/mine', variants: ['standard', 'nvidia', 'neuron'] },
      ],
    });
  });
});

describe('an alias', () => {
  test.each([
    ['al2023@v20250601', { family: 'AL2023', version: 'v20250601' }],
    ['AL2023@latest', { family: 'AL2023', version: 'latest' }],
    ['bottlerocket@1.45.0', { family: 'Bottlerocket', version: '1.45.0' }],
  ])('%s is %j', (alias, read) =>
    expect(aliasOf({ amiFamily: 'AL2023', amiSelectorTerms: [{ alias }] })).toEqual(read),
  );

  test('is not assumed for a class that selects images, nor for Custom', () => {
    expect(aliasOf({ amiFamily: 'AL2', amiSelectorTerms: [{ id: 'ami-1' }] })).toBeUndefined();
    expect(aliasOf({ amiFamily: 'Custom', amiSelectorTerms: [] })).toBeUndefined();
  });
});

test('every alias of every version asks by names of SSM parameters that differ', () => {
  for (const family of ['AL2', 'AL2023', 'Bottlerocket', 'Windows2022'] as const) {
    const asked = names(family, `${family.toLowerCase()}@latest`);
    expect(Array.isArray(asked) && new Set(asked).size === asked.length).toBe(true);
  }
});
