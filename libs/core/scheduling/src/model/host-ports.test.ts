import type { HostPort } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { anyClash, portsClash } from './host-ports.js';

fc.configureGlobal({ seed: 1 });

const portOf = (ip: string, port = 80, protocol: HostPort['protocol'] = 'TCP'): HostPort => ({
  ip,
  port,
  protocol,
});

describe('two host ports on one node', () => {
  test.each<[string, HostPort, HostPort]>([
    ['the same address', portOf('10.0.0.1'), portOf('10.0.0.1')],
    ['every address twice', portOf(''), portOf('')],
    ['every address and one of them', portOf(''), portOf('10.0.0.1')],
    ['0.0.0.0 and one address', portOf('0.0.0.0'), portOf('10.0.0.1')],
    [':: and one address', portOf('::'), portOf('fd00::1')],
    ['0.0.0.0 and an absent address', portOf('0.0.0.0'), portOf('')],
  ])('clash for %s', (_what, a, b) => {
    expect(portsClash(a, b)).toBe(true);
  });

  test.each<[string, HostPort, HostPort]>([
    ['two addresses', portOf('10.0.0.1'), portOf('10.0.0.2')],
    ['another port', portOf('', 80), portOf('', 81)],
    ['another protocol', portOf('', 80, 'TCP'), portOf('', 80, 'UDP')],
  ])('do not clash for %s', (_what, a, b) => {
    expect(portsClash(a, b)).toBe(false);
  });
});

const anyPort = fc.record({
  ip: fc.constantFrom('', '0.0.0.0', '::', '10.0.0.1', '10.0.0.2'),
  port: fc.constantFrom(80, 443),
  protocol: fc.constantFrom('TCP' as const, 'UDP' as const),
});

describe('clashes of host ports', () => {
  test('go both ways, and each port clashes with itself', () =>
    fc.assert(
      fc.property(anyPort, anyPort, (a, b) => {
        expect(portsClash(a, b)).toBe(portsClash(b, a));
        expect(portsClash(a, a)).toBe(true);
      }),
    ));

  test.each<[string, readonly HostPort[], readonly HostPort[], boolean]>([
    ['one of the wanted is taken', [portOf('', 1)], [portOf('', 2), portOf('', 1)], true],
    ['none of the wanted is taken', [portOf('', 1)], [portOf('', 2), portOf('', 3)], false],
    ['nothing is taken', [], [portOf('')], false],
    ['nothing is wanted', [portOf('')], [], false],
    ['two of the wanted are equal, and neither is taken', [], [portOf(''), portOf('')], false],
  ])('among lists: %s', (_what, taken, wanted, clash) => {
    expect(anyClash(taken, wanted)).toBe(clash);
  });
});
