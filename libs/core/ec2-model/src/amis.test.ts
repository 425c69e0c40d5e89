import { describe, expect, test } from '@jest/globals';
import { aliasOf, amiFor, amiQueriesOf, amiStatusOf, catalogFacts, chooseAmis, type AmiQuery, type Image } from './index.js';

const names = (family: Parameters<typeof amiQueriesOf>[0]['amiFamily'], alias: string, version = '1.32') => {
  const answer = amiQueriesOf({ amiFamily: family, amiSelectorTerms: [{ alias }] }, version);
  return answer.ok ? answer.queries.map((query) => (query.kind === 'parameter' ? query.name : '')) : answer.message;
};
const image = (id: string, changes: Partial<Image> = {}): Image => ({ id, name: id, arch: 'amd64', createdMs: 0, deprecated: false, tags: {}, ...changes });
const byOwner: AmiQuery = { kind: 'images', filters: [] };

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
    ['AL2',          'al2@v20250601',      '/aws/service/eks/optimized-ami/1.32/amazon-linux-2/amazon-eks-node-1.32-v20250601/image_id'],
    ['AL2',          'al2@latest',         '/aws/service/eks/optimized-ami/1.32/amazon-linux-2/recommended/image_id'],
    ['AL2023',       'al2023@v20250601',   '/aws/service/eks/optimized-ami/1.32/amazon-linux-2023/x86_64/standard/amazon-eks-node-al2023-x86_64-standard-1.32-v20250601/image_id'],
    ['Bottlerocket', 'bottlerocket@v1.45.0', '/aws/service/bottlerocket/aws-k8s-1.32/x86_64/1.45.0/image_id'],
    ['Windows2022',  'windows2022@latest', '/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.32/image_id'],
  ] as const)('%s by %s begins with %s', (family, alias, first) => expect(names(family, alias)[0]).toBe(first));

  test('AL2 ends with Kubernetes 1.32, Windows 2025 begins with 1.35, and both say what to use instead', () => {
    expect(names('AL2', 'al2@latest', '1.33')).toMatch(/no Amazon Linux 2 image for Kubernetes 1.33; use alias al2023@latest/);
    expect(names('Windows2025', 'windows2025@latest', '1.34')).toMatch(/from Kubernetes 1.35 on/);
  });

  test('a legacy class that selects nothing boots its family’s latest image', () => expect(aliasOf({ amiFamily: 'AL2', amiSelectorTerms: [] })).toEqual({ family: 'AL2', version: 'latest' }));

  test('selector terms: ids share a call, a name alone means own and Amazon’s images, a parameter is read', () => {
    const answer = amiQueriesOf({ amiFamily: 'Custom', amiSelectorTerms: [{ id: 'ami-2' }, { name: 'golden-*' }, { id: 'ami-1' }, { tags: { team: 'x' }, owner: '123456789012' }, { ssmParameter: '/mine' }] }, '1.34');
    expect(answer).toEqual({ ok: true, queries: [
      { kind: 'images', ids: ['ami-1', 'ami-2'], filters: [] },
      { kind: 'images', owners: ['self', 'amazon'], filters: [{ name: 'state', values: ['available'] }, { name: 'name', values: ['golden-*'] }] },
      { kind: 'images', owners: ['123456789012'], filters: [{ name: 'state', values: ['available'] }, { name: 'tag:team', values: ['x'] }] },
      { kind: 'parameter', name: '/mine', variants: ['standard', 'nvidia', 'neuron'] },
    ] });
  });
});

describe('which image is taken', () => {
  test.each([
    ['the newer one',                   [image('old', { createdMs: 1 }), image('new', { createdMs: 2 })],                                      'new'],
    ['one that is not deprecated',      [image('old', { createdMs: 1 }), image('new', { createdMs: 2, deprecated: true })],                    'old'],
    ['the greater name of two as new',  [image('b', { createdMs: 1 }), image('a', { createdMs: 1 })],                                          'b'],
  ])('%s', (_what, images, id) => expect(chooseAmis([{ query: byOwner, images }])[0]?.id).toBe(id));

  test('each architecture and driver has its own, newest first', () => {
    const parameter = (arch: 'amd64' | 'arm64', variants: readonly ('standard' | 'nvidia' | 'neuron')[]): AmiQuery => ({ kind: 'parameter', name: 'p', arch, variants });
    const chosen = chooseAmis([
      { query: parameter('amd64', ['standard', 'neuron']), images: [image('ami-x', { createdMs: 3 })] },
      { query: parameter('arm64', ['standard']), images: [image('ami-a', { createdMs: 5, arch: 'arm64' })] },
    ]);
    expect(chosen.map((one) => `${one.id} ${one.arch} ${one.variant}`)).toEqual(['ami-a arm64 standard', 'ami-x amd64 neuron', 'ami-x amd64 standard']);
    const facts = (name: string) => catalogFacts(name) ?? (() => { throw new Error(name); })();
    expect([facts('m6g.large'), facts('m5.large'), facts('inf2.xlarge'), facts('g5.xlarge')].map((f) => amiFor(chosen, f)?.id)).toEqual(['ami-a', 'ami-x', 'ami-x', undefined]);
  });

  test('an image that the author chose serves every device, and stands once in the status', () => {
    const chosen = chooseAmis([{ query: byOwner, images: [image('ami-mine')] }]);
    expect(amiStatusOf(chosen)).toEqual([{ id: 'ami-mine', name: 'ami-mine', requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }] }]);
  });
});
