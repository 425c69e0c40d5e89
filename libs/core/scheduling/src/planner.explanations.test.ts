import { describe, expect, test } from 'vitest';

import type { Reason } from './index.js';
import { cores, hostKey, of, one, wanting, why, zoneKey } from './testing/explaining.js';
import { gibibytes, poolOf } from './testing/objects.js';
import { type Scenario } from './testing/scenario.js';

describe('a pool that has no place for a pod says at which constraint the last type fell, and what would help', () => {
  type Row = readonly [what: string, scenario: Scenario, reason: Partial<Reason>];
  test.each<Row>([
    [
      'a taint',
      one(
        {},
        {
          pools: [
            poolOf('default', { taints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }] }),
          ],
        },
      ),
      {
        code: 'taint-not-tolerated',
        values: { taint: 'gpu=yes:NoSchedule' },
        fell: { count: 6, of: 6 },
        message: `the pod does not tolerate gpu=yes:NoSchedule of ${of}`,
        remedy: 'add a toleration for gpu=yes:NoSchedule',
      },
    ],
    [
      'a value that was mistyped',
      one(wanting(zoneKey, 'zone-aa')),
      {
        code: 'requirement-mismatch',
        values: { key: zoneKey, wanted: 'In [zone-aa]', offered: 'In [zone-a, zone-b]' },
        fell: { count: 6, of: 6 },
        message: `the pod wants ${zoneKey} In [zone-aa], ${of} offers In [zone-a, zone-b]; did you mean zone-a?`,
        remedy: 'write zone-a',
      },
    ],
    [
      'a label that was mistyped',
      one(wanting('topology.kubernetes.io/zones', 'zone-a')),
      {
        code: 'requirement-mismatch',
        values: {
          key: 'topology.kubernetes.io/zones',
          wanted: 'In [zone-a]',
          offered: 'label not defined',
        },
        message: `the pod wants topology.kubernetes.io/zones In [zone-a], ${of} offers label not defined; did you mean ${zoneKey}?`,
        remedy: `write ${zoneKey}`,
      },
    ],
    [
      'a value that nobody has',
      one(wanting('example.com/family', 'quantum')),
      {
        code: 'requirement-mismatch',
        values: { key: 'example.com/family', wanted: 'In [quantum]', offered: 'In [a, b]' },
        remedy: `let ${of} offer example.com/family In [quantum], or drop it from the pod`,
      },
    ],
    [
      'a value that the pool rules out',
      one(wanting('kubernetes.io/arch', 'arm64'), {
        pools: [
          poolOf('default', {
            requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }],
          }),
        ],
      }),
      {
        code: 'requirement-mismatch',
        values: { key: 'kubernetes.io/arch', wanted: 'In [arm64]', offered: 'In [amd64]' },
        fell: { count: 3, of: 3 },
      },
    ],
    [
      'labels that no type has together',
      one({
        nodeSelector: { 'kubernetes.io/arch': 'arm64', 'karpenter.sh/capacity-type': 'spot' },
      }),
      {
        code: 'no-offering',
        values: {
          keys: 'karpenter.sh/capacity-type, kubernetes.io/arch',
          steps: 'karpenter.sh/capacity-type 3 of 6, kubernetes.io/arch 3 of 3',
        },
        fell: { count: 3, of: 3 },
        message: `no type of ${of} meets all of karpenter.sh/capacity-type, kubernetes.io/arch in a zone and capacity type that can be bought; types excluded: karpenter.sh/capacity-type 3 of 6, kubernetes.io/arch 3 of 3`,
        remedy: 'drop one of karpenter.sh/capacity-type, kubernetes.io/arch from the pod',
      },
    ],
    [
      'the name of a node',
      one(wanting(hostKey, 'node-7')),
      {
        code: 'restricted-label',
        values: { key: hostKey, wanted: 'In [node-7]', offered: 'label not defined' },
        message: `the pod wants ${hostKey} In [node-7], which no new node of ${of} may promise`,
        remedy: `drop ${hostKey} from the pod`,
      },
    ],
    [
      'a label of the reserved domain',
      one(wanting('karpenter.sh/own', 'true')),
      { code: 'restricted-label', remedy: 'drop karpenter.sh/own from the pod' },
    ],
    [
      'more than the largest type has',
      one({ requests: cores(9) }),
      {
        code: 'resources-too-large',
        values: { resource: 'cpu', requested: '9', largest: '8', steps: 'cpu 6 of 6' },
        fell: { count: 6, of: 6 },
        message: `the pod asks for 9 cpu, the largest type of ${of} that it may use has 8`,
        remedy: `ask for at most 8 cpu, or allow larger types in ${of}`,
      },
    ],
    [
      'more than what is left of the types has',
      one({
        requests: { cpu: 5000, memory: gibibytes(40), pods: 1 },
        ...wanting('kubernetes.io/arch', 'arm64'),
      }),
      {
        code: 'resources-too-large',
        values: {
          resource: 'memory',
          requested: '40Gi',
          largest: '32Gi',
          steps: 'labels 3 of 6, cpu 2 of 3, memory 1 of 1',
        },
        fell: { count: 1, of: 1 },
        message: `the pod asks for 40Gi memory, the largest type of ${of} that it may use has 32Gi (types excluded before: labels 3 of 6, cpu 2 of 3)`,
      },
    ],
    [
      'cores written for millicores',
      one({ requests: cores(1500) }),
      {
        code: 'resources-too-large',
        message: `the pod asks for 1500 cpu, the largest type of ${of} that it may use has 8; did you mean millicores (m)?`,
      },
    ],
    [
      'a device that no type has',
      one({ requests: { 'vendor/fpga': 1 } }),
      {
        code: 'resources-too-large',
        values: {
          resource: 'vendor/fpga',
          requested: '1',
          largest: '0',
          steps: 'vendor/fpga 6 of 6',
        },
        message: `the pod asks for 1 vendor/fpga, which no type of ${of} that it may use has`,
        remedy: `allow types with vendor/fpga in ${of}, or drop the request`,
      },
    ],
  ])('%s', (_, scenario, reason) =>
    expect(why(scenario)[0]).toMatchObject({ subject: of, ...reason }),
  );
});
