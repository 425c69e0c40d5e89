import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import {
  forTests,
  httpRequest,
  isUnavailable,
  obtainControlPlane,
  type RunningControlPlane,
  startControlPlane,
  waitFor,
} from '@dovetail/testbed';
import { crdFiles } from '@dovetail/tools/crds';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';

import { crdCases, crdUpdates } from './crd-cases.js';
import { type Crd, refusalsOf } from './crd-schema.js';

const folder = fileURLToPath(new URL('../../../deploy/crds/', import.meta.url));
const crds = readdirSync(folder)
  .filter((file) => file.endsWith('.yaml'))
  .map((file) => parse(readFileSync(join(folder, file), 'utf8')) as Crd);
const crdOf = (object: object): Crd => {
  const found = crds.find((crd) => crd.spec.names.kind === (object as { kind: string }).kind);
  if (found === undefined) throw new Error(`no definition for ${JSON.stringify(object)}`);
  return found;
};

const root = fileURLToPath(new URL('../../../', import.meta.url));
const manifests = ['tests/scenarios', 'examples'].flatMap((below) =>
  readdirSync(join(root, below), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => join(below, file)),
);
/** Manifests of users: every object of our kinds in the scenarios and examples. */
const shipped = manifests.flatMap((file) =>
  parseAllDocuments(readFileSync(join(root, file), 'utf8'))
    .map((document) => document.toJS() as { kind?: string })
    .filter((object) => crds.some((crd) => crd.spec.names.kind === object?.kind))
    .map((object) => ({ file, kind: object.kind, object })),
);

test('the committed definitions are what the generator writes', () => {
  for (const [file, content] of crdFiles())
    expect([file, readFileSync(join(folder, file), 'utf8')]).toEqual([file, content]);
});

describe('by the schema and a CEL library', () => {
  test.each(crdCases)('$name', ({ object, refused }) => {
    const refusals = refusalsOf(crdOf(object), object);
    if (refused === undefined) expect(refusals).toEqual([]);
    else expect(refusals.join('\n')).toMatch(refused);
  });
  test.each(crdUpdates)('$name', ({ before, after, refused }) => {
    const refusals = refusalsOf(crdOf(after), after, before);
    if (refused === undefined) expect(refusals).toEqual([]);
    else expect(refusals.join('\n')).toMatch(refused);
  });
});

// Building a control plane takes minutes, so the testbed's own command does it, not a test.
const programs = await forTests(obtainControlPlane);
if (isUnavailable(programs))
  process.stdout.write(
    `LEFT OUT: the definitions on a real API server: ${programs.unavailable.split('\n', 1)[0]}\n`,
  );
const onServer = isUnavailable(programs) ? describe.skip : describe;

onServer('by the real API server', () => {
  const dir = mkdtempSync(join(tmpdir(), 'dovetail-crds-'));
  let cluster: RunningControlPlane;

  const call = async (
    method: string,
    path: string,
    object?: object,
  ): Promise<{ status: number; body: string; message: string }> => {
    const { url, ca, token } = cluster;
    const answer = await httpRequest(`${url}${path}`, {
      method,
      ca,
      token,
      deadlineMs: 10_000,
      ...(object === undefined ? {} : { body: JSON.stringify(object) }),
    });
    return { ...answer, message: (JSON.parse(answer.body) as { message?: string }).message ?? '' };
  };
  const pathOf = (object: object): string => {
    const { spec } = crdOf(object);
    return `/apis/${spec.group}/${spec.versions[0].name}/${spec.names.plural}`;
  };

  beforeAll(async () => {
    if (isUnavailable(programs)) return;
    cluster = await startControlPlane({ paths: programs.paths, dir, clusterName: 'crds' });
    for (const crd of crds)
      expect(
        await call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd),
      ).toMatchObject({ status: 201 });
    const served = async (): Promise<boolean> =>
      (
        await Promise.all(crds.map((crd) => call('GET', pathOf({ kind: crd.spec.names.kind }))))
      ).every(({ status }) => status === 200);
    await waitFor(served, { what: 'the definitions to be served', deadlineMs: 30_000 });
  });
  afterAll(async () => {
    await cluster?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  test.each(crdCases)('$name', async ({ object, refused }) => {
    const answer = await call('POST', `${pathOf(object)}?dryRun=All`, object);
    if (refused === undefined) expect(answer).toMatchObject({ status: 201 });
    else expect(answer).toMatchObject({ status: 422, message: expect.stringMatching(refused) });
  });
  test.each(crdUpdates)('$name', async ({ before, after, refused }) => {
    const path = pathOf(before);
    const created = JSON.parse((await call('POST', path, before)).body) as {
      metadata: { resourceVersion: string };
    };
    const answer = await call('PUT', `${path}/case?dryRun=All`, {
      ...after,
      metadata: { name: 'case', resourceVersion: created.metadata.resourceVersion },
    });
    await call('DELETE', `${path}/case`);
    if (refused === undefined) expect(answer).toMatchObject({ status: 200 });
    else expect(answer).toMatchObject({ status: 422, message: expect.stringMatching(refused) });
  });
  test.each(shipped)('$kind of $file is accepted', async ({ object }) =>
    expect(await call('POST', `${pathOf(object)}?dryRun=All`, object)).toMatchObject({
      status: 201,
    }),
  );
  test('defaults are written in', async () => {
    const { body } = await call(
      'POST',
      `${pathOf({ kind: 'NodePool' })}?dryRun=All`,
      crdCases[0]?.object,
    );
    expect(JSON.parse(body)).toMatchObject({
      spec: {
        template: { spec: { expireAfter: '720h' } },
        disruption: {
          consolidateAfter: '0s',
          consolidationPolicy: 'WhenEmptyOrUnderutilized',
          budgets: [{ nodes: '10%' }],
        },
      },
    });
  });
  test.each([
    ['NodePool', ['Name', 'NodeClass', 'Nodes', 'Ready', 'Age', 'Weight', 'CPU', 'Memory']],
    [
      'NodeClaim',
      [
        'Name',
        'Type',
        'Capacity',
        'Zone',
        'Node',
        'Ready',
        'Age',
        'ImageID',
        'ID',
        'NodePool',
        'NodeClass',
        'Drifted',
      ],
    ],
    ['EC2NodeClass', ['Name', 'Ready', 'Age', 'Role']],
    ['Provisioner', ['Name', 'Age', 'Template', 'Weight', 'Ready']],
    ['AWSNodeTemplate', ['Name', 'Age', 'Ready']],
  ])('%s is listed with its columns', async (kind, names) => {
    const { url, ca, token } = cluster;
    const { get } = await import('node:https');
    const body = await new Promise<string>((resolve, reject) => {
      get(
        `${url}${pathOf({ kind })}`,
        {
          ca,
          agent: false,
          headers: {
            authorization: `Bearer ${token}`,
            accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
          },
        },
        (response) => {
          let text = '';
          response.on('data', (chunk: Buffer) => {
            text += chunk.toString();
          });
          response.on('end', () => resolve(text));
        },
      ).on('error', reject);
    });
    expect(
      (JSON.parse(body) as { columnDefinitions: { name: string }[] }).columnDefinitions.map(
        (column) => column.name,
      ),
    ).toEqual(names);
  });
});
