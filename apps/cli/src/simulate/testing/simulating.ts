import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import type { SimulationResult } from '../result.js';
import { runSimulate, type SimulateRequest } from '../run.js';

export const dir = mkdtempSync(join(tmpdir(), 'dovetail-cli-'));

// Files of tests share this module, so the folder stays for all of them.
process.once('exit', () => rmSync(dir, { recursive: true, force: true }));

let serial = 0;

/** Writes files into a new folder and returns the folder. */
export function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = join(dir, String((serial += 1)));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

export const offering = (
  capacityType: string,
  zone: string,
  price: number,
  more: object = {},
): object => ({
  Price: price,
  Available: true,
  ...more,
  Requirements: [
    { key: 'karpenter.sh/capacity-type', operator: 'In', values: [capacityType] },
    { key: 'topology.kubernetes.io/zone', operator: 'In', values: [zone] },
  ],
});

export const type = (name: string, cpu: number, price: number, more: object = {}): object => ({
  name,
  architecture: 'amd64',
  operatingSystems: ['linux'],
  resources: { cpu: String(cpu), memory: `${cpu * 4}Gi`, pods: '20' },
  offerings: ['z1', 'z2'].flatMap((zone) => [
    offering('on-demand', zone, price),
    offering('spot', zone, price / 2),
  ]),
  ...more,
});

export const catalogText = JSON.stringify([
  type('m5.large', 2, 0.1),
  type('m5.xlarge', 4, 0.19),
  type('m5.2xlarge', 8, 0.4),
]);

const catalog = join(folderOf({ 'types.json': catalogText }), 'types.json');

type Ran = { readonly code: number; readonly out: string; readonly err: string };

/** Runs `simulate` on these files, or another command that reads them. */
export async function simulate(
  paths: readonly string[],
  more: Partial<SimulateRequest> = {},
  run: typeof runSimulate = runSimulate,
): Promise<Ran> {
  let out = '';
  let err = '';
  const request: SimulateRequest = {
    paths,
    catalog,
    output: 'json',
    budgetMs: 0,
    boundSteps: 0,
    seed: 1,
    hostnameSpread: 'balanced',
    preferences: 'Respect',
    ...more,
  };
  const code = await run(request, {
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    progress: () => undefined,
  });
  return { code, out, err };
}

export const resultOf = (ran: Ran): SimulationResult => JSON.parse(ran.out) as SimulationResult;

export const pool = (
  more = '',
  requirements = '[{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]',
): string => `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    metadata: {labels: {team: a}}
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements: ${requirements}
      taints: []
${more}`;

export const workload = (kind: string, spec: string, apiVersion = 'apps/v1'): string => `
apiVersion: ${apiVersion}
kind: ${kind}
metadata: {name: web}
spec:
${spec}`;

export const template = (cpu: string, indent = '  '): string =>
  [
    'template:',
    '  metadata: {labels: {app: web}}',
    '  spec:',
    '    containers:',
    '      - name: c',
    '        resources:',
    '          requests:',
    `            cpu: ${cpu}`,
  ]
    .map((line) => `${indent}${line}`)
    .join('\n');

export const pod = (name: string, cpu: string, spec = ''): string => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}}
spec:
  containers:
    - name: c
      resources:
        requests: {cpu: ${cpu}, memory: 512M}
${spec}`;
