import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { bootFromUserData } from './boot.js';
import { wordsOf } from './shell.js';

const encoded = (text: string): string => Buffer.from(text).toString('base64');
const mime = (...parts: readonly (readonly [type: string, body: string])[]): string =>
  [
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary="//"',
    '',
    ...parts.flatMap(([type, body]) => ['--//', `Content-Type: ${type}`, '', body, '']),
    '--//--',
    '',
  ].join('\n');

const al2 = (more = ''): string => `#!/bin/bash -xe
exec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1
# it's a comment with an apostrophe
/etc/eks/bootstrap.sh 'lab' --apiserver-endpoint 'https://api' --b64-cluster-ca 'Y2E=' \\
--dns-cluster-ip '172.20.0.10' --use-max-pods false \\
--kubelet-extra-args '--node-labels="karpenter.sh/nodepool=default,team=one" --register-with-taints="karpenter.sh/unregistered:NoExecute,dedicated=gpu:NoSchedule" --max-pods=29 --kube-reserved="cpu=70m,memory=574Mi" --eviction-hard="memory.available<100Mi"'${more}
`;
const nodeConfig = (kubelet: string): string => `apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster:
    name: lab
    apiServerEndpoint: https://api
    certificateAuthority: Y2E=
    cidr: 172.20.0.0/16
  kubelet:
${kubelet}`;
const bottlerocket = `[settings.kubernetes]
cluster-name = "lab"
api-server = "https://api"
cluster-certificate = "Y2E="
cluster-dns-ip = "172.20.0.10"
max-pods = 58
[settings.kubernetes.node-labels]
"team" = "team1"
"karpenter.sh/nodepool" = "default"
[settings.kubernetes.node-taints]
"karpenter.sh/unregistered" = [":NoExecute"]
dedicated = ["gpu:NoSchedule", "gpu:NoExecute"]
`;

describe('a machine joins with', () => {
  test('what AL2 says to bootstrap.sh', () => {
    expect(bootFromUserData(encoded(al2()), 'AL2')).toEqual({
      joins: true,
      config: {
        family: 'AL2',
        clusterName: 'lab',
        endpoint: 'https://api',
        certificateAuthority: 'Y2E=',
        clusterDns: '172.20.0.10',
        raid0: false,
        labels: { 'karpenter.sh/nodepool': 'default', team: 'one' },
        taints: [
          { key: 'karpenter.sh/unregistered', effect: 'NoExecute' },
          { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' },
        ],
        podsMax: 29,
        kubeReserved: { cpu: '70m', memory: '574Mi' },
        systemReserved: {},
        evictionHard: { 'memory.available': '100Mi' },
      },
    });
  });

  test('what the last script of several says, variables replaced', () => {
    const script = mime(
      ['text/x-shellscript; charset="us-ascii"', '#!/bin/bash\necho custom'],
      [
        'text/x-shellscript',
        '#!/bin/bash\nNAME=lab\nexport LABELS="a=b"\n/etc/eks/bootstrap.sh "${NAME}" --kubelet-extra-args "--node-labels=$LABELS"',
      ],
    );
    expect(bootFromUserData(encoded(script), 'AL2')).toMatchObject({
      joins: true,
      config: { clusterName: 'lab', labels: { a: 'b' } },
    });
  });

  test('what the NodeConfigs of AL2023 say together, the later first', () => {
    const first =
      'apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config:\n      maxPods: 1\n      podsPerCore: 2\n    flags: ["--node-labels=a=b"]\n';
    const second = nodeConfig(
      '    config:\n      maxPods: 29\n      clusterDNS: [172.20.0.10]\n      kubeReserved: {cpu: 70m}\n      registerWithTaints: [{key: karpenter.sh/unregistered, effect: NoExecute}]\n    flags:\n      - --node-labels="karpenter.sh/nodepool=default,c=d"\n',
    );
    expect(
      bootFromUserData(
        encoded(
          mime(
            ['text/x-shellscript', '#!/bin/bash\ntrue'],
            ['application/node.eks.aws', first],
            ['application/node.eks.aws', second],
          ),
        ),
        'AL2023',
      ),
    ).toEqual({
      joins: true,
      config: {
        family: 'AL2023',
        clusterName: 'lab',
        endpoint: 'https://api',
        certificateAuthority: 'Y2E=',
        clusterDns: '172.20.0.10',
        raid0: false,
        labels: { 'karpenter.sh/nodepool': 'default', c: 'd' },
        taints: [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }],
        podsMax: 29,
        podsPerCore: 2,
        kubeReserved: { cpu: '70m' },
        systemReserved: {},
        evictionHard: {},
      },
    });
  });

  test('what the settings of Bottlerocket say', () => {
    expect(bootFromUserData(encoded(bottlerocket), 'Bottlerocket')).toEqual({
      joins: true,
      config: {
        family: 'Bottlerocket',
        clusterName: 'lab',
        endpoint: 'https://api',
        certificateAuthority: 'Y2E=',
        clusterDns: '172.20.0.10',
        raid0: false,
        labels: { team: 'team1', 'karpenter.sh/nodepool': 'default' },
        taints: [
          { key: 'karpenter.sh/unregistered', effect: 'NoExecute' },
          { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' },
          { key: 'dedicated', value: 'gpu', effect: 'NoExecute' },
        ],
        podsMax: 58,
        kubeReserved: {},
        systemReserved: {},
        evictionHard: {},
      },
    });
  });

  test.each([
    ['AL2', al2()],
    ['AL2023', mime(['application/node.eks.aws', nodeConfig('    flags: []\n')])],
    ['Bottlerocket', bottlerocket],
  ])('%s text when the image does not say its family', (family, text) => {
    expect(bootFromUserData(encoded(text))).toMatchObject({ joins: true, config: { family } });
  });
});

describe('a machine does not join', () => {
  test.each<[string, string | undefined, 'AL2' | 'AL2023' | 'Bottlerocket' | undefined, string]>([
    ['without user data', undefined, 'AL2', 'there is no user data'],
    ['with text that is not base64', 'not base64!', 'AL2', 'not base64'],
    ['on AL2 with a NodeConfig', encoded(nodeConfig('    flags: []\n')), 'AL2', 'no shell script'],
    ['on AL2023 with a script', encoded(al2()), 'AL2023', 'no NodeConfig'],
    ['when the script is no script', encoded(al2().slice(2)), 'AL2', 'no shell script'],
    [
      'without a cluster name',
      encoded('#!/bin/bash\n/etc/eks/bootstrap.sh --use-max-pods false'),
      'AL2',
      'CLUSTER_NAME is not defined',
    ],
    [
      'with an option that bootstrap.sh does not have',
      encoded('#!/bin/bash\n/etc/eks/bootstrap.sh lab --max-pods 3'),
      'AL2',
      'unknown option --max-pods',
    ],
    [
      'with a taint without effect',
      encoded(al2().replace(':NoSchedule', '')),
      'AL2',
      'taint dedicated:  is not an effect',
    ],
    [
      'with a label that Kubernetes refuses',
      encoded(al2().replace('team=one', 'team=-one')),
      'AL2',
      'node label team: -one is not a label value',
    ],
    ['with a quote left open', encoded(al2("'")), 'AL2', 'a quote is not closed'],
    [
      'without the end of its MIME',
      encoded(
        mime(['application/node.eks.aws', nodeConfig('    flags: []\n')]).replace('--//--', ''),
      ),
      'AL2023',
      'does not end with its boundary',
    ],
    [
      'without the service CIDR',
      encoded(
        mime(['application/node.eks.aws', nodeConfig('    flags: []\n').replace(/ +cidr.*\n/, '')]),
      ),
      'AL2023',
      'spec.cluster.cidr is missing',
    ],
    [
      'with YAML that is none',
      encoded(mime(['application/node.eks.aws', 'a: ['])),
      'AL2023',
      'NodeConfig: ',
    ],
    ['with TOML that is none', encoded('[settings'), 'Bottlerocket', 'not TOML'],
    [
      'without an API server',
      encoded(bottlerocket.replace(/api-server.*\n/, '')),
      'Bottlerocket',
      'settings.kubernetes.api-server is missing',
    ],
    ['with text of no family', encoded('hello'), undefined, 'neither a bootstrap.sh script'],
  ])('%s', (_why, userData, family, reason) => {
    expect(bootFromUserData(userData, family)).toEqual({
      joins: false,
      reason: expect.stringContaining(reason) as unknown,
    });
  });

  test('and nothing makes the reader throw', () => {
    fc.assert(
      fc.property(
        fc.string({ maxLength: 200 }),
        fc.constantFrom('AL2' as const, 'AL2023' as const, 'Bottlerocket' as const, undefined),
        (text, family) => {
          const outcome = bootFromUserData(encoded(text), family);
          return outcome.joins || outcome.reason.length > 0;
        },
      ),
    );
  });
});

test('a word in single quotes comes back as it was', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.string().filter((text) => !text.includes("'")),
        { maxLength: 5 },
      ),
      (words) => {
        expect(wordsOf(words.map((word) => `'${word}'`).join(' '))).toEqual(words);
      },
    ),
  );
});
