import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { chartDirs, helmFor } from '@dovetail/test-support/chart';
import { ranCommand } from '@dovetail/test-support/command';
import { run } from '@dovetail/testbed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** Values of Karpenter's chart, as `dovetail convert` turns them, are taken by a real Helm. */
const helm = await helmFor('converted values');
const karpenter = `
additionalLabels: { team: a }
serviceAccount:
  annotations: { eks.amazonaws.com/role-arn: arn:aws:iam::111122223333:role/karpenter }
serviceMonitor: { enabled: true, additionalLabels: { release: prometheus } }
replicas: 3
hostNetwork: true
dnsPolicy: Default
priorityClassName: own
tolerations: [{ key: own, operator: Exists }]
nodeSelector: { disk: fast }
podDisruptionBudget: { maxUnavailable: 2 }
controller:
  env:
    - { name: HTTPS_PROXY, value: http://proxy }
    - { name: AWS_REGION, value: eu-west-1 }
  resources: { limits: { cpu: 1, memory: 1Gi } }
logLevel: debug
settings:
  clusterName: my-cluster
  clusterEndpoint: https://10.0.0.1
  interruptionQueue: own
  isolatedVPC: true
  vmMemoryOverheadPercent: 0.05
  reservedENIs: "1"
  batchIdleDuration: 2s
  legacyNodeRepair: true
  assumeRoleARN: arn:aws:iam::111122223333:role/nodes
  featureGates: { nodeRepair: true, nodeOverlay: true }
`;

(helm === undefined ? describe.skip : describe)('dovetail convert values', () => {
  let folder: string;
  let said: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dovetail-convert-'));
    await writeFile(join(folder, 'karpenter.yaml'), karpenter);
    const args = ['convert', 'values', 'karpenter.yaml'];
    said = (await ranCommand({ name: 'cli', folder, args })).output;
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('prints values that the chart takes, and a note for each that it left out', async () => {
    const lines = said.split('\n');
    const notes = lines.filter((line) => line.startsWith('note: '));
    expect(notes.map((note) => note.split(/[: ]+/)[1])).toEqual([
      'controller.resources',
      'dnsPolicy',
      'serviceAccount.annotations',
      'settings.assumeRoleARN',
      'settings.featureGates.nodeOverlay',
    ]);
    const values = lines.filter((line) => !line.startsWith('note: ')).join('\n');
    await writeFile(join(folder, 'values.yaml'), values);
    const { stdout } = await run(
      helm?.path ?? '',
      ['template', 'dovetail', chartDirs.dovetail, '--values', join(folder, 'values.yaml')],
      { deadlineMs: 60_000, remedy: 'read its output' },
    );
    for (const text of [
      'name: CLUSTER_NAME, value: "my-cluster"',
      'name: AWS_REGION, value: "eu-west-1"',
      'name: INTERRUPTION_QUEUE, value: "own"',
      'name: CLUSTER_ENDPOINT, value: "https://10.0.0.1"',
      'name: ISOLATED_VPC, value: "true"',
      'name: RESERVED_ENIS, value: "1"',
      'name: LEGACY_NODE_REPAIR, value: "true"',
      'name: ASSUME_ROLE_ARN, value: "arn:aws:iam::111122223333:role/nodes"',
      'name: BATCH_IDLE_DURATION, value: "2s"',
      'value: NodeRepair=true,SpotToSpotConsolidation=false',
      'name: HTTPS_PROXY, value: "http://proxy"',
      'priorityClassName: own',
      'release: prometheus',
      'containerPort: 8083',
    ])
      expect(stdout).toContain(text);
  });

  test('names a file that it cannot read, and ends with 64', async () => {
    await writeFile(join(folder, 'broken.yaml'), 'a: [');
    const broken = { name: 'cli', folder, args: ['convert', 'values', 'broken.yaml'] } as const;
    expect(await ranCommand(broken)).toMatchObject({
      code: 64,
      output: expect.stringMatching(/^broken\.yaml:1: this is not valid YAML/),
    });
    const missing = { name: 'cli', folder, args: ['convert', 'values', 'none.yaml'] } as const;
    expect(await ranCommand(missing)).toMatchObject({
      code: 64,
      output: expect.stringContaining('none.yaml: there is no such file'),
    });
  });
});
