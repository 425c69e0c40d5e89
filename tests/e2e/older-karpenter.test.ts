import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { commandsOf, inShell } from '@dovetail/test-support/guide';
import { realParts } from '@dovetail/test-support/real-parts';
import { eventually } from '@dovetail/test-support/world';
import {
  obtainControlPlane,
  obtainKubectl,
  type RunningControlPlane,
  startControlPlane,
} from '@dovetail/testbed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';

/**
 * The commands for a Karpenter before 1.1, on an API server whose definitions once stored `v1beta1`
 * and whose webhooks nobody answers. The Kubernetes twin has neither.
 */
const root = join(import.meta.dirname, '..', '..');
const [look = '', rewrite = '', keep = '', remove = ''] = await commandsOf(
  'migrate-from-karpenter.md',
  'From a Karpenter before 1.1',
);
const [, , , apply = ''] = await commandsOf('migrate-from-karpenter.md', 'Take over');

const parts = await realParts('the commands for a Karpenter before 1.1', {
  plane: () => obtainControlPlane(),
  kubectl: () => obtainKubectl(),
});

const definitions = [
  'karpenter.sh_nodepools',
  'karpenter.sh_nodeclaims',
  'karpenter.k8s.aws_ec2nodeclasses',
];

type Version = Readonly<Record<string, unknown>>;
type Definition = { readonly spec: { readonly versions: readonly [Version] } };

/** Our definition as Karpenter 1.0 has it: with `v1beta1` beside `v1`, and one of them stored. */
async function older(name: string, stored: 'v1beta1' | 'v1'): Promise<object> {
  const file = join(root, 'deploy', 'crds', `${name}.yaml`);
  const { spec, ...rest } = parse(await readFile(file, 'utf8')) as Definition;
  const [version] = spec.versions;
  const versions = ['v1beta1', 'v1'].map((each) => ({
    ...version,
    name: each,
    storage: each === stored,
  }));
  return { ...rest, spec: { ...spec, versions } };
}

/** A webhook of this name about NodePools, whose Service is not there. */
const webhook = (kind: 'Validating' | 'Mutating', name: string): object => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: `${kind}WebhookConfiguration`,
  metadata: { name, labels: { 'app.kubernetes.io/name': 'karpenter' } },
  webhooks: [
    {
      name,
      admissionReviewVersions: ['v1'],
      clientConfig: { service: { name: 'karpenter', namespace: 'kube-system', port: 8443 } },
      failurePolicy: name.includes('karpenter') ? 'Fail' : 'Ignore',
      sideEffects: 'None',
      rules: [
        {
          apiGroups: ['karpenter.sh'],
          apiVersions: ['v1'],
          operations: ['CREATE', 'UPDATE'],
          resources: ['nodepools', 'nodepools/status'],
        },
      ],
    },
  ],
});

const theirs = [
  webhook('Validating', 'validation.webhook.karpenter.sh'),
  webhook('Validating', 'validation.webhook.provisioners.karpenter.sh'),
  webhook('Mutating', 'defaulting.webhook.karpenter.k8s.aws'),
];
const another = webhook('Validating', 'validation.webhook.example.com');

const pool = {
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'default' },
  spec: {
    template: {
      spec: {
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }],
      },
    },
  },
};

describe.skipIf(parts === undefined)('the guide for a Karpenter before 1.1', () => {
  let plane: RunningControlPlane;
  let folder: string;
  const shell = (command: string): Promise<string> =>
    inShell(command, { kubeconfig: plane.kubeconfig, folder });
  const put = async (...objects: readonly object[]): Promise<string> => {
    const list = { apiVersion: 'v1', kind: 'List', items: objects };
    await writeFile(join(folder, 'put.json'), JSON.stringify(list));
    return shell('kubectl apply --server-side --force-conflicts --field-manager=helm -f put.json');
  };
  const versionOfPool = (): Promise<string> =>
    shell("kubectl get nodepools.karpenter.sh default -o jsonpath='{.metadata.resourceVersion}'");
  let writes = 0;
  /** Changes the pool; kubectl sends no change that changes nothing. */
  const write = (): Promise<string> =>
    shell(`kubectl label nodepools.karpenter.sh default --overwrite write=${(writes += 1)}`);
  const isWritten = (): Promise<boolean> =>
    write().then(
      () => true,
      () => false,
    );
  const webhooks = async (): Promise<readonly string[]> =>
    (
      await shell(
        'kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations -o name',
      )
    )
      .split('\n')
      .filter(Boolean)
      .toSorted();

  beforeAll(async () => {
    if (parts === undefined) throw new Error('no control plane');
    folder = await mkdtemp(join(tmpdir(), 'dovetail-older-'));
    await symlink(join(root, 'deploy'), join(folder, 'deploy'));
    plane = await startControlPlane({ paths: parts.plane.paths, dir: folder, clusterName: 'lab' });
    await put(...(await Promise.all(definitions.map((name) => older(name, 'v1beta1')))));
    await eventually('a pool', () =>
      put(pool).then(
        () => true,
        () => false,
      ),
    );
    await put(...(await Promise.all(definitions.map((name) => older(name, 'v1')))));
  });
  afterAll(async () => {
    await plane?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test('lists the versions that objects are stored in', async () =>
    expect((await shell(look)).trim().split('\n').toSorted()).toEqual([
      'ec2nodeclasses.karpenter.k8s.aws stores v1, has v1beta1 v1',
      'nodeclaims.karpenter.sh stores v1, has v1beta1 v1',
      'nodepools.karpenter.sh stores v1, has v1beta1 v1',
    ]));

  test('without a rewrite the definitions of Dovetail are refused', async () =>
    expect(await shell(apply).catch(String)).toMatch(/storedVersions.*v1beta1/));

  test('writes each object as v1, and Dovetail takes the definitions over', async () => {
    const before = await versionOfPool();
    // As a user's shell has it: a part of a pipe that fails does not end it.
    await shell(`set +o pipefail; ${rewrite}`);
    expect(await versionOfPool()).not.toBe(before);
    expect(await shell(look)).not.toContain('v1beta1');
    await shell(apply);
    // The API server reads no object that is stored in a version which its definition lacks.
    expect(await shell('kubectl get nodepools.karpenter.sh -o name')).toContain('/default');
    expect(await isWritten()).toBe(true);
  });

  test('keeps the webhooks of Karpenter in a file, and removes them alone', async () => {
    await put(...theirs, another);
    await eventually('a refusal by a webhook', async () =>
      /failed calling webhook/.test(await write().catch(String)),
    );
    await shell(keep);
    await shell(remove);
    expect(await webhooks()).toEqual([
      'validatingwebhookconfiguration.admissionregistration.k8s.io/validation.webhook.example.com',
    ]);
    await eventually('a write that no webhook refuses', isWritten);
  });

  test('gives the webhooks back to a Karpenter that returns', async () => {
    await shell('kubectl apply -f karpenter-webhooks.json');
    expect(await webhooks()).toHaveLength(4);
  });

  test('does nothing where no webhook is left', async () => {
    await shell(remove);
    await shell(keep);
    await shell(remove);
    expect(await webhooks()).toHaveLength(1);
  });
});
