import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { SimulationResult } from '../result.js';
import { runSimulate, type SimulateRequest } from '../run.js';

// Every kind of manifest that a simulation reads, and its effect on the plan.

const dir = mkdtempSync(join(tmpdir(), 'dovetail-manifests-'));

// Files of tests share this module, so the folder stays for all of them.
process.once('exit', () => rmSync(dir, { recursive: true, force: true }));

let serial = 0;

function fileOf(name: string, text: string): string {
  const file = join(dir, `${(serial += 1)}-${name}`);
  writeFileSync(file, text);
  return file;
}

export type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: object;
  readonly [key: string]: unknown;
};

const offering = (zone: string, price: number): object => ({
  Price: price,
  Available: true,
  Requirements: [
    { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
    { key: 'topology.kubernetes.io/zone', operator: 'In', values: [zone] },
  ],
});

const catalog = fileOf(
  'types.json',
  JSON.stringify(
    [2, 4].map((cpu) => ({
      name: `m5.${cpu}`,
      architecture: 'amd64',
      operatingSystems: ['linux'],
      resources: { cpu: String(cpu), memory: `${cpu * 4}Gi`, pods: '20' },
      offerings: ['z1', 'z2'].map((zone) => offering(zone, cpu / 10)),
    })),
  ),
);

type Ran = {
  readonly code: number;
  readonly result: SimulationResult;
  readonly out: string;
  readonly err: string;
  readonly progress: readonly string[];
};

export async function simulate(
  objects: readonly Manifest[],
  more: Partial<SimulateRequest> = {},
): Promise<Ran> {
  let [out, err] = ['', ''];
  const progress: string[] = [];
  const paths = [
    fileOf('world.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects })),
  ];
  const code = await runSimulate(
    {
      paths,
      catalog,
      output: 'json',
      budgetMs: 0,
      boundSteps: 0,
      seed: 1,
      hostnameSpread: 'balanced',
      preferences: 'Respect',
      ...more,
    },
    {
      out: (text) => {
        out += text;
      },
      err: (text) => {
        err += text;
      },
      progress: (text) => {
        progress.push(text);
      },
    },
  );
  return {
    code,
    out,
    err,
    progress,
    result:
      more.output === 'table' || out === ''
        ? ({} as SimulationResult)
        : (JSON.parse(out) as SimulationResult),
  };
}

export const nodePool = (spec: object = {}): Manifest => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'default' },
  spec: {
    template: {
      spec: {
        nodeClassRef: { group: 'karpenter.kwok.sh', kind: 'KWOKNodeClass', name: 'default' },
        requirements: [],
      },
    },
    ...spec,
  },
});

export const podSpec = (cpu: string, more: object = {}): object => ({
  containers: [{ name: 'c', image: 'c', resources: { requests: { cpu } } }],
  ...more,
});

export const pod = (name: string, cpu: string, more: object = {}): Manifest => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: podSpec(cpu, more),
});

export const template = (cpu: string, more: object = {}): object => ({
  metadata: { labels: { app: 'web' } },
  spec: podSpec(cpu, more),
});

export const workload = (kind: string, spec: object, apiVersion = 'apps/v1'): Manifest => ({
  apiVersion,
  kind,
  metadata: { name: 'web' },
  spec,
});

export const zoneTerm = (zone: string): object => ({
  key: 'topology.kubernetes.io/zone',
  operator: 'In',
  values: [zone],
});

export const zonesOf = ({ result }: Ran): readonly (readonly string[])[] =>
  result.newNodes.map((node) => node.zones);
