import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { type KubeObject, type KubeResource, kubeResources } from '@dovetail/core-ports';
import { catalogTypes } from '@dovetail/sim-cloud';
import { region } from '@dovetail/sim-stage';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';

import { StoryStage } from './story-stage.js';

/** The examples are for `make lab`, too: the twins are those of a lab named `lab`. */
const folder = join(import.meta.dirname, '../../../examples');
const objectsOf = (path: string): readonly KubeObject[] =>
  parseAllDocuments(readFileSync(path, 'utf8')).map((each) => each.toJS() as KubeObject);
const manifests = (name: string): readonly KubeObject[] =>
  name.endsWith('.yaml')
    ? objectsOf(join(folder, name))
    : readdirSync(join(folder, name)).flatMap((file) => objectsOf(join(folder, name, file)));

function resourceOf({ apiVersion = '', kind = '' }: KubeObject): KubeResource {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  const known = Object.values(kubeResources).find(
    (each) => each.kind === kind && each.group === group && each.version === version,
  );
  return known ?? { group, version, kind, plural: `${kind.toLowerCase()}s`, namespaced: true };
}

/** The Events by which a pool says that its class is missing or cannot be used. */
const poolWarnings = ['NodeClassNotFound', 'NodeClassNotReady'];

type PodFields = KubeObject & { readonly status?: { readonly phase?: string } };

test.each([
  // A job of it forgets the taint of its pool. `simulate` and Events say so.
  ['mixed', ['trainer']],
  ['web', []],
  ['inflate.yaml', []],
  ['load.yaml', []],
])('the pods of examples/%s run in the lab', async (name, left) => {
  const stage = await new StoryStage(undefined, catalogTypes(region)).begin();
  stage.start('services');
  for (const object of manifests(name)) {
    const resource = resourceOf(object);
    const metadata = resource.namespaced
      ? { namespace: 'default', ...object.metadata }
      : object.metadata;
    await stage.kube.create(resource, { ...object, metadata });
  }
  await stage.pass(180);
  const waiting = (stage.list(kubeResources.pods) as readonly PodFields[])
    .filter(({ status }) => status?.phase !== 'Running' && status?.phase !== 'Succeeded')
    .map(({ metadata }) => metadata.name.split('-')[0]);
  const warnings = poolWarnings.flatMap((reason) => stage.events(reason));
  stage.end();
  expect({ waiting, warnings }).toEqual({ waiting: left, warnings: [] });
});
