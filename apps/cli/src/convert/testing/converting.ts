import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { isRecord } from '@dovetail/core-kube-model';
import { Stage } from '@dovetail/sim-stage';

import { type ObjectsRequest, runConvertObjects } from '../objects/run.js';

/** An object as JSON. */
export type Json = Record<string, unknown>;
type Printed = { readonly code: number; readonly out: string; readonly err: string };

/** A file of its own with the text. */
export function fileOf(text: string): string {
  const file = join(mkdtempSync(join(tmpdir(), 'dovetail-convert-')), 'given.yaml');
  writeFileSync(file, text);
  return file;
}

/** Runs the command on a file or folder. */
export async function convert(path: string, more: Partial<ObjectsRequest> = {}): Promise<Printed> {
  let out = '';
  let err = '';
  const code = await runConvertObjects(
    { paths: [path], output: 'yaml', role: 'nodes', kubernetes: { major: 1, minor: 34 }, ...more },
    {
      out: (text) => {
        out += text;
      },
      err: (text) => {
        err += text;
      },
    },
  );
  return { code, out, err };
}

/** The output as JSON. */
export type Result = {
  readonly objects: readonly Json[];
  readonly notes: readonly { object: string; field: string; text: string }[];
};

/** The objects and notes for objects that are given as JSON. */
export async function converted(...items: readonly Json[]): Promise<Result & { err: string }> {
  const path = fileOf(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  const { out, err } = await convert(path, { output: 'json' });
  return { ...(JSON.parse(out) as Result), err };
}

const resources: Readonly<Record<string, string>> = {
  NodePool: 'karpenter.sh/nodepools',
  EC2NodeClass: 'karpenter.k8s.aws/ec2nodeclasses',
  NodeClaim: 'karpenter.sh/nodeclaims',
};

/** Creates the objects in a cluster with the definitions of deploy/crds. */
export async function serve(objects: readonly unknown[]): Promise<number> {
  const stage = new Stage();
  await stage.installCrds();
  let created = 0;
  for (const object of objects.filter(isRecord)) {
    const kind = String(object['kind']);
    const [group = '', plural = ''] = (resources[kind] ?? '').split('/');
    if (plural === '') continue;
    const text = JSON.stringify(object).replaceAll('${CLUSTER_NAME}', 'lab');
    await stage.kube.create(
      { group, version: 'v1', kind, plural, namespaced: false },
      JSON.parse(text),
    );
    created += 1;
  }
  return created;
}
