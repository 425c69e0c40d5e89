import {
  awsNodeTemplateOf,
  ec2NodeClassOf,
  inlineProviderOf,
  labels,
  nodeClaimOf,
  type NodeClass,
  nodePoolOf,
  type Pool,
  provisionerOf,
} from '@dovetail/core-api';
import { lookUp } from '@dovetail/core-invariant';
import { isRecord, type Parsed, parsed, type Raw, recordOf } from '@dovetail/core-kube-model';

import { InputError } from '../../manifests/input-error.js';
import { errorAt, placeOf, type Source, valueOf } from '../../manifests/objects.js';
import type { Problems } from '../../manifests/problems.js';
import { withoutUnknownFields } from '../../manifests/unknown-fields.js';
import { claimOfBeta, classOfBeta, poolOfBeta } from './beta.js';
import {
  type Cluster,
  type Draft,
  isPresent,
  movedMetadata,
  nameOf,
  type Note,
  textOf,
} from './draft.js';
import { moveKubelets } from './kubelets.js';
import { classSpecOf } from './legacy-class.js';
import { poolOfProvisioner } from './provisioner.js';
import { workloadKinds, workloadOf } from './workload.js';

/** The object for our parsers, with the UID that an object of a file has not got yet. */
function forParser(object: Raw): Raw {
  const metadata = recordOf(object['metadata']);
  return { ...object, metadata: { ...metadata, uid: metadata['uid'] ?? 'none' } };
}

type Given = { readonly cluster: Cluster; readonly sources: readonly Source[] };
type Read = (source: Source, given: Given) => Promise<readonly Draft[]>;

/** A draft whose object a function makes while it tells what it changes. */
async function draftOf(
  source: Source,
  make: (tell: (field: string, text: string) => void) => Raw,
  kubelet?: Draft['kubelet'],
): Promise<Draft> {
  const notes: Note[] = [];
  const made = parsed(() => make((field, text) => notes.push({ field, text })));
  const object = await valueOf(source, made);
  return { source, object, notes, ...(kubelet === undefined ? {} : { kubelet }) };
}

const kubeletOf = (raw: unknown, field: string): NonNullable<Draft['kubelet']> => ({
  field,
  settings: isRecord(raw) && Object.keys(raw).length > 0 ? raw : undefined,
});

/** The kubelet settings of a Provisioner. The runtime is that of the image. */
function provisionerKubelet(draft: Draft, raw: unknown): Draft {
  if (!isRecord(raw)) return { ...draft, kubelet: kubeletOf(raw, 'spec.kubeletConfiguration') };
  const { containerRuntime, ...settings } = raw;
  const field = 'spec.kubeletConfiguration';
  if (isPresent(containerRuntime))
    draft.notes.push({
      field: `${field}.containerRuntime`,
      text: 'left out: nodes run the runtime of their image',
    });
  return { ...draft, kubelet: kubeletOf(settings, field) };
}

function inlineClass(source: Source, read: NodeClass, className: string, cluster: Cluster) {
  const field = 'spec.provider';
  return draftOf(source, (tell): Raw => {
    const provider = recordOf(recordOf(source.object['spec'])['provider']);
    tell(field, `is EC2NodeClass ${className} now`);
    return {
      apiVersion: 'karpenter.k8s.aws/v1',
      kind: 'EC2NodeClass',
      metadata: { name: className },
      spec: classSpecOf(provider, read, { field, cluster, tell }),
    };
  });
}

/** The name for the class of an inline provider: the Provisioner's, unless a class has it. */
function inlineName(name: string, { sources }: Given): string {
  const taken = new Set(
    sources
      .filter(({ kind }) => kind === 'EC2NodeClass' || kind === 'AWSNodeTemplate')
      .map(({ object }) => nameOf(object)),
  );
  return taken.has(name) ? `${name}-provider` : name;
}

const provisioner: Read = async (source, given) => {
  const { cluster } = given;
  const pool: Pool = await valueOf(source, provisionerOf(forParser(source.object)));
  const read = await valueOf(
    source,
    inlineProviderOf(forParser(source.object), cluster.kubernetes),
  );
  const className =
    read === undefined ? pool.classRef.name : inlineName(nameOf(source.object), given);
  const converted = await draftOf(source, (tell) =>
    poolOfProvisioner(source.object, pool, className, tell),
  );
  const kubelet = recordOf(source.object['spec'])['kubeletConfiguration'];
  return [
    ...(read === undefined ? [] : [await inlineClass(source, read, className, cluster)]),
    provisionerKubelet(converted, kubelet),
  ];
};

const nodeTemplate: Read = async (source, { cluster }) => {
  const read = await valueOf(
    source,
    awsNodeTemplateOf(forParser(source.object), cluster.kubernetes),
  );
  const draft = await draftOf(source, (tell) => {
    const { metadata, spec, status } = source.object;
    tell('kind', 'EC2NodeClass of karpenter.k8s.aws/v1');
    if (isPresent(status)) tell('status', 'left out: the new object gets its own');
    return {
      apiVersion: 'karpenter.k8s.aws/v1',
      kind: 'EC2NodeClass',
      metadata: movedMetadata(metadata, tell),
      spec: classSpecOf(recordOf(spec), read, { field: 'spec', cluster, tell }),
    };
  });
  return [draft];
};

const betaPool: Read = async (source) => {
  const template = recordOf(recordOf(source.object['spec'])['template']);
  const kubelet = kubeletOf(recordOf(template['spec'])['kubelet'], 'spec.template.spec.kubelet');
  return [await draftOf(source, (tell) => poolOfBeta(source.object, tell), kubelet)];
};

/** The age limit of a claim's pool, if the pool is given: 720h where it names none. */
function expiryOf(claim: Source, { sources }: Given): unknown {
  const held = recordOf(recordOf(claim.object['metadata'])['labels'])[labels.nodePool];
  const pool = sources.find(({ kind, object }) => kind === 'NodePool' && nameOf(object) === held);
  if (pool === undefined) return undefined;
  const spec = recordOf(pool.object['spec']);
  const node = recordOf(recordOf(spec['template'])['spec']);
  return node['expireAfter'] ?? recordOf(spec['disruption'])['expireAfter'] ?? '720h';
}

const readers: ReadonlyMap<string, Read> = new Map([
  ['karpenter.sh/v1alpha5/Provisioner', provisioner],
  ['karpenter.k8s.aws/v1alpha1/AWSNodeTemplate', nodeTemplate],
  ['karpenter.sh/v1beta1/NodePool', betaPool],
  [
    'karpenter.k8s.aws/v1beta1/EC2NodeClass',
    async (source, { cluster }) => [
      await draftOf(source, (tell) => classOfBeta(source.object, cluster, tell)),
    ],
  ],
  [
    'karpenter.sh/v1beta1/NodeClaim',
    async (source, given) => [
      await draftOf(source, (tell) => claimOfBeta(source.object, expiryOf(source, given), tell)),
    ],
  ],
]);

const isOfKarpenter = (apiVersion: string): boolean =>
  /^karpenter\.(sh|k8s\.aws)\//.test(apiVersion);

/** The drafts of one object: itself if it is of v1, or neither Karpenter's nor a workload. */
async function draftsOf(source: Source, given: Given): Promise<readonly Draft[]> {
  const read = readers.get(`${source.apiVersion}/${source.kind}`);
  if (read !== undefined) return read(source, given);
  if (workloadKinds.has(source.kind) && !source.apiVersion.includes('karpenter'))
    return [await draftOf(source, (tell) => workloadOf(source.object, tell))];
  if (!isOfKarpenter(source.apiVersion) || source.apiVersion.endsWith('/v1'))
    return [{ source, object: source.object, notes: [] }];
  throw await errorAt(source, {
    field: 'kind',
    value: `${source.kind} of ${source.apiVersion}`,
    remedy: 'this has no form in v1: remove it',
  });
}

/** Leaves out what the schema of v1 does not know, such as the severity of older conditions. */
function dropUnknown(draft: Draft): void {
  if (draft.notes.length === 0 || !isOfKarpenter(String(draft.object['apiVersion']))) return;
  const { object, fields } = withoutUnknownFields(draft.object);
  draft.object = object;
  for (const { field, meant } of fields)
    if (!draft.notes.some((note) => note.field === field))
      draft.notes.push({
        field,
        text: `left out: v1 has no such field${meant === undefined ? '' : `; did you mean ${meant}?`}`,
      });
}

const parsers: Readonly<Record<string, (raw: unknown) => Parsed<unknown>>> = {
  NodePool: nodePoolOf,
  EC2NodeClass: ec2NodeClassOf,
  NodeClaim: nodeClaimOf,
};

/** Throws InputError for a converted object that v1 refuses, with the field of v1. */
async function check({ source, object, notes }: Draft): Promise<void> {
  if (notes.length === 0) return;
  const kind = String(object['kind']);
  const read = lookUp(parsers, kind)?.(forParser(object));
  if (read === undefined || read.ok) return;
  throw new InputError(`${read.value} cannot be used here: ${read.remedy}`, {
    place: await placeOf(source),
    field: `${kind} ${nameOf(object)} in v1: ${read.field}`,
  });
}

const identityOf = ({ object }: Draft): string =>
  [
    String(object['apiVersion']),
    String(object['kind']),
    textOf(recordOf(object['metadata'])['namespace']),
    nameOf(object),
  ].join('/');

/** Throws InputError for an object that became one that is there already. */
async function checkSingle(draft: Draft, seen: Set<string>): Promise<void> {
  const identity = identityOf(draft);
  const before = seen.has(identity);
  seen.add(identity);
  if (!before || draft.notes.length === 0) return;
  throw new InputError(
    `another object is ${String(draft.object['kind'])} ${nameOf(draft.object)} already: rename one of the two`,
    { place: await placeOf(draft.source), field: 'metadata.name' },
  );
}

/** An item of a typed list leaves its kind to the list; alone it needs its own. */
const withKind = (source: Source): Source => {
  const { apiVersion, kind, object } = source;
  if (isPresent(object['kind']) && isPresent(object['apiVersion'])) return source;
  return { ...source, object: { ...object, apiVersion, kind } };
};

/**
 * Brings objects of Karpenter's older versions to v1, in their order, and says what was changed.
 * Workloads follow the pools' label, and other objects stay as they are. An object without a form
 * in v1 is left out and becomes a problem.
 */
export async function convertObjects(
  given: readonly Source[],
  cluster: Cluster,
  problems: Problems,
): Promise<readonly Draft[]> {
  const drafts: Draft[] = [];
  const sources = given.map(withKind);
  for (const source of sources)
    drafts.push(...((await problems.reading(() => draftsOf(source, { cluster, sources }))) ?? []));
  const whole: Draft[] = [];
  const seen = new Set<string>();
  for (const draft of moveKubelets(drafts)) {
    const good = await problems.reading(async () => {
      dropUnknown(draft);
      await check(draft);
      await checkSingle(draft, seen);
      return draft;
    });
    if (good !== undefined) whole.push(good);
  }
  return whole;
}
