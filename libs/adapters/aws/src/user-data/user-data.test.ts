import type { AmiFamily } from '@dovetail/core-api';
import type { UserDataInput } from '@dovetail/core-ports';
import { type BootConfig, bootFromUserData } from '@dovetail/sim-cloud';
import fc from 'fast-check';
import { parse } from 'smol-toml';
import { describe, expect, test } from 'vitest';

import { renderUserData } from './render.js';

const input = (family: AmiFamily, changes: Partial<UserDataInput> = {}): UserDataInput => ({
  family,
  kubelet: {},
  maxPods: 29,
  taints: [],
  cluster: {
    name: 'lab',
    endpoint: 'https://lab.example',
    certificateAuthority: 'Q0E=',
    serviceCidr: '172.20.0.0/16',
    dnsIp: '172.20.0.10',
  },
  labels: {
    'karpenter.sh/nodepool': 'default',
    team: 'a',
    'topology.kubernetes.io/zone': 'us-east-1a',
    'node-restriction.kubernetes.io/x': 'y',
    'kubernetes.io/arch': 'amd64',
    'node.k8s.io/z': '1',
  },
  ...changes,
});

const render = (family: AmiFamily, changes: Partial<UserDataInput> = {}): string => {
  const rendered = renderUserData(input(family, changes));
  if (!rendered.ok) throw new Error(rendered.message);
  return rendered.base64;
};
const textOf = (family: AmiFamily, changes: Partial<UserDataInput> = {}) =>
  Buffer.from(render(family, changes), 'base64').toString('utf8');
const problemOf = (family: AmiFamily, changes: Partial<UserDataInput> = {}) => {
  const rendered = renderUserData(input(family, changes));
  return rendered.ok ? undefined : rendered.message;
};

/** The result on a machine of the family, read by the cloud twin's own reader. */
const bootOf = (
  family: 'AL2' | 'AL2023' | 'Bottlerocket',
  changes: Partial<UserDataInput> = {},
): BootConfig => {
  const boot = bootFromUserData(render(family, changes), family);
  if (!boot.joins) throw new Error(boot.reason);
  return boot.config;
};

describe.each(['AL2', 'AL2023', 'Bottlerocket'] as const)('a machine that boots %s', (family) => {
  test('joins the cluster with the plan’s pods, its own labels and the unregistered taint', () => {
    expect(bootOf(family)).toMatchObject({
      clusterName: 'lab',
      endpoint: 'https://lab.example',
      certificateAuthority: 'Q0E=',
      podsMax: 29,
      raid0: false,
      labels: {
        'karpenter.sh/nodepool': 'default',
        team: 'a',
        'karpenter.sh/do-not-sync-taints': 'true',
      },
      taints: [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }],
    });
  });

  test('sets no label of Kubernetes’ own domains, which a kubelet may not', () =>
    expect(Object.keys(bootOf(family).labels).sort()).toEqual([
      'karpenter.sh/do-not-sync-taints',
      'karpenter.sh/nodepool',
      'team',
    ]));

  test('registers with the claim’s taints, values and all', () => {
    const taints = [
      { key: 'gpu', value: 'yes', effect: 'NoSchedule' },
      { key: 'gpu', effect: 'NoExecute' },
      { key: 'boot', effect: 'NoSchedule' },
    ] as const;
    const found = bootOf(family, { taints })
      .taints.map((taint) => `${taint.key}=${taint.value ?? ''}:${taint.effect}`)
      .sort();
    expect(found).toEqual([
      'boot=:NoSchedule',
      'gpu=:NoExecute',
      'gpu=yes:NoSchedule',
      'karpenter.sh/unregistered=:NoExecute',
    ]);
  });

  test('keeps the reservations and thresholds of the class', () => {
    const kubelet = {
      kubeReserved: { cpu: '200m', memory: '1Gi' },
      systemReserved: { cpu: '100m' },
      evictionHard: { 'memory.available': '5%' },
    };
    expect(bootOf(family, { kubelet })).toMatchObject(kubelet);
  });

  test('makes one volume of its own disks when told to', () =>
    expect(bootOf(family, { instanceStorePolicy: 'RAID0' }).raid0).toBe(true));

  test('asks the cluster’s DNS, or the one that the class names', () =>
    expect(
      [bootOf(family), bootOf(family, { kubelet: { clusterDNS: ['10.0.0.1', '10.0.0.2'] } })].map(
        (config) => config.clusterDns,
      ),
    ).toEqual(['172.20.0.10', '10.0.0.1']));

  test('gets the same bytes for the same input, whatever the order of its labels', () =>
    fc.assert(
      fc.property(
        fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.stringMatching(/^[a-z0-9]{0,8}$/)),
        fc.integer({ min: 1, max: 737 }),
        (labels, maxPods) => {
          const reversed = Object.fromEntries(Object.entries(labels).reverse());
          return (
            render(family, { labels, maxPods }) === render(family, { labels: reversed, maxPods })
          );
        },
      ),
      { numRuns: 30 },
    ));

  test('says what is wrong rather than boot something else: a quote in a label would end the script’s quotation', () =>
    expect(problemOf(family, { labels: { team: "a'; reboot #" } })).toMatch(
      /label team holds a quote/,
    ));

  test('is told when its user data is larger than EC2 takes', () =>
    expect(
      problemOf(family, {
        userData:
          `${family === 'Bottlerocket' ? '# ' : '#!/bin/bash\n# '}${'x'.repeat(17_000)}` +
          (family === 'Bottlerocket' ? '\n[settings.motd]\nx = "' + 'y'.repeat(17_000) + '"' : ''),
      }),
    ).toMatch(/EC2 takes 16384: shorten spec.userData/));
});

test('AL2023: every further kubelet field of the class reaches the kubelet', () => {
  const others = { containerLogMaxSize: '50Mi', featureGates: { A: true } };
  const text = textOf('AL2023', { kubelet: { others } });
  expect(text).toContain('containerLogMaxSize: 50Mi');
  expect(text).toMatch(/featureGates:\n +A: true/);
  expect(text).not.toContain('others');
});

describe('the user’s part comes first', () => {
  test('AL2 and AL2023: a script before ours, as a part of its own, without carriage returns', () => {
    for (const family of ['AL2', 'AL2023'] as const) {
      const text = textOf(family, { userData: '#!/bin/bash\r\necho hello\r\n' });
      expect(text).toContain(
        '--//\nContent-Type: text/x-shellscript; charset="us-ascii"\n\n#!/bin/bash\necho hello\n--//\n',
      );
      expect(text.indexOf('echo hello')).toBeLessThan(
        text.indexOf(family === 'AL2' ? '/etc/eks/bootstrap.sh' : 'kind: NodeConfig'),
      );
    }
  });

  test('AL2023: a NodeConfig before ours, so that what the plan relies on wins', () => {
    const userData =
      'apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config:\n      maxPods: 999\n      shutdownGracePeriod: 30s\n';
    expect(textOf('AL2023', { userData })).toContain(
      `Content-Type: application/node.eks.aws\n\n${userData.trimEnd()}`,
    );
    expect(bootOf('AL2023', { userData }).podsMax).toBe(29);
  });

  test('a MIME message keeps its parts with their types, and ours is added', () => {
    const userData =
      'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="B"\n\n--B\nContent-Type: text/cloud-config\n\n#cloud-config\nruncmd: [ls]\n\n--B\nContent-Type: text/x-shellscript; charset="us-ascii"\n\n#!/bin/bash\necho two\n--B--\n';
    const text = textOf('AL2', { userData });
    expect(text.match(/^Content-Type: .*/gm)).toEqual([
      'Content-Type: multipart/mixed; boundary="//"',
      'Content-Type: text/cloud-config',
      'Content-Type: text/x-shellscript; charset="us-ascii"',
      'Content-Type: text/x-shellscript; charset="us-ascii"',
    ]);
    expect(bootOf('AL2', { userData }).clusterName).toBe('lab');
  });

  test('Bottlerocket: the user’s settings stay; labels are merged, taints and maps replaced', () => {
    const userData =
      '[settings.kubernetes]\nmax-pods = 5\nallowed-unsafe-sysctls = ["net.core.somaxconn"]\n[settings.kubernetes.node-labels]\nteam = "mine"\nextra = "1"\n[settings.kubernetes.node-taints]\nold = ["x:NoSchedule"]\n[settings.host-containers.admin]\nenabled = true\n';
    const kubernetes = (
      parse(textOf('Bottlerocket', { userData })) as {
        settings: { kubernetes: Record<string, unknown>; 'host-containers': unknown };
      }
    ).settings;
    expect(kubernetes['host-containers']).toEqual({ admin: { enabled: true } });
    expect(kubernetes.kubernetes).toMatchObject({
      'max-pods': 29,
      'allowed-unsafe-sysctls': ['net.core.somaxconn'],
      'node-labels': { team: 'a', extra: '1' },
      'node-taints': { 'karpenter.sh/unregistered': [':NoExecute'] },
    });
  });

  test.each([
    [undefined, false],
    ['1.46.0', false],
    ['v1.45.9', true],
    ['2.0.0', false],
  ])('Bottlerocket %s names the folders for its disks: %s', (imageVersion, named) =>
    expect(
      textOf('Bottlerocket', {
        instanceStorePolicy: 'RAID0',
        ...(imageVersion === undefined ? {} : { imageVersion }),
      }).includes('/var/lib/containerd'),
    ).toBe(named),
  );

  test('Custom: verbatim, and nothing added', () =>
    expect([textOf('Custom', { userData: 'anything\r\n' }), textOf('Custom')]).toEqual([
      'anything\r\n',
      '',
    ]));

  test('Windows: the user’s PowerShell, then the image’s bootstrap', () => {
    const text = textOf('Windows2022', { userData: 'Write-Host hello' });
    expect(text).toMatch(
      /^<powershell>\nWrite-Host hello\n[^]*-EKSClusterName 'lab' [^]*--max-pods=29[^]*-DNSClusterIP '172.20.0.10'\n<\/powershell>$/,
    );
  });
});

describe('what cannot be used is refused with the remedy', () => {
  test.each([
    ['TOML that is none', 'Bottlerocket', { userData: '[settings' }, /spec.userData is not TOML/],
    [
      'labels that are no table',
      'Bottlerocket',
      { userData: '[settings.kubernetes]\nnode-labels = 3' },
      /node-labels must be a table/,
    ],
    [
      'MIME without a boundary',
      'AL2',
      { userData: 'Content-Type: multipart/mixed\n\nx' },
      /no usable boundary/,
    ],
    [
      'a cluster without service CIDR',
      'AL2023',
      { cluster: { name: 'lab', endpoint: 'https://x', certificateAuthority: 'Q0E=' } },
      /service CIDR is not known/,
    ],
  ] as const)('%s', (_what, family, changes, message) =>
    expect(problemOf(family, changes)).toMatch(message),
  );
});
