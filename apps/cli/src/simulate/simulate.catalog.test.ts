import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { describe, expect, test } from 'vitest';

import {
  catalogText,
  folderOf,
  offering,
  pod,
  pool,
  resultOf,
  simulate,
  type,
} from './testing/simulating.js';

describe('the catalog', () => {
  test('may be compressed', async () => {
    const file = join(folderOf({ keep: '' }), 'types.json.gz');
    writeFileSync(file, gzipSync(catalogText));
    expect(
      await simulate([folderOf({ 'all.yaml': [pool(), pod('a', '1')].join('\n---\n') })], {
        catalog: file,
      }),
    ).toMatchObject({ code: 0 });
  });
  test("in the provider's format loses 100m CPU and 10Mi to each node", async () => {
    const firstTypes = async (cpu: string): Promise<readonly string[]> =>
      resultOf(
        await simulate([folderOf({ 'all.yaml': [pool(), pod('a', cpu)].join('\n---\n') })]),
      ).newNodes.flatMap((node) => node.instanceTypes[0] ?? []);
    expect([await firstTypes('1900m'), await firstTypes('1901m')]).toEqual([
      ['m5.large'],
      ['m5.xlarge'],
    ]);
  });
  test('does not offer what it calls unavailable', async () => {
    const file = join(
      folderOf({
        'types.json': JSON.stringify([
          type('cheap', 4, 0.01, {
            offerings: [offering('on-demand', 'z1', 0.01, { Available: false })],
          }),
          type('dear', 4, 1),
        ]),
      }),
      'types.json',
    );
    expect(
      resultOf(
        await simulate([folderOf({ 'all.yaml': [pool(), pod('a', '1')].join('\n---\n') })], {
          catalog: file,
        }),
      ).newNodes[0]?.instanceTypes,
    ).toEqual(['dear']);
  });
  test.each(['1e400', '1e300', '1000000', '-1'])('with a price of %s is refused', async (price) => {
    const text = JSON.stringify([type('dear', 4, 12.5)]).replaceAll('12.5', price);
    const file = join(folderOf({ 'types.json': text }), 'types.json');
    const asked = folderOf({ 'all.yaml': [pool(), pod('a', '1')].join('\n---\n') });
    const answer = await simulate([asked], { catalog: file });
    expect(answer.code).toBe(64);
    expect(JSON.stringify(answer)).toMatch(/Price: .* cannot be used here: write US dollars/);
  });
  test.each([
    ['us-east-1', false],
    ['eu-west-1', true],
  ])('of %s has estimated prices: %s, and says so', async (region, estimated) => {
    const folder = folderOf({
      'all.yaml': [
        pool().replace(
          'karpenter.kwok.sh, kind: KWOKNodeClass',
          'karpenter.k8s.aws, kind: EC2NodeClass',
        ),
        pod('a', '1'),
      ].join('\n---\n'),
    });
    const result = resultOf(await simulate([folder], { catalog: region }));
    expect([result.cost.estimated, result.newNodes[0]?.priceEstimated]).toEqual([
      estimated,
      estimated,
    ]);
    expect(
      (await simulate([folder], { catalog: region, output: 'table' })).out.includes('~ estimated'),
    ).toBe(estimated);
  });
  test("knows the provider's labels, and AWS' for types of AWS", async () => {
    const chosen = async (key: string, value: string): Promise<readonly string[]> =>
      resultOf(
        await simulate([
          folderOf({
            'all.yaml': [pool(), pod('a', '1', `  nodeSelector: {${key}: "${value}"}`)].join(
              '\n---\n',
            ),
          }),
        ]),
      ).newNodes.flatMap((node) => node.instanceTypes);
    expect([
      await chosen('karpenter.kwok.sh/instance-cpu', '4'),
      await chosen('karpenter.k8s.aws/instance-size', '2xlarge'),
    ]).toEqual([['m5.xlarge'], ['m5.2xlarge']]);
  });
});
