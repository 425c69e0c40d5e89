import type { NodeClass, NodeClassStatus, ResolvedAmi } from '@dovetail/core-api';
import {
  type AmiAnswer,
  amiQueriesOf,
  type AmiQuery,
  chooseAmis,
  type Image,
} from '@dovetail/core-ec2-model';
import type { ImageDiscovery } from '@dovetail/core-ports';

import { missing, type Part } from './class-part.js';

/** The SSM parameter that named an image, by image id; images found otherwise have none. */
export type ImageParameters = ReadonlyMap<string, string>;

/**
 * The image of a template of the user's own, which discovery does not look into. As in Karpenter,
 * it counts for every type. The pool's requirements must name its architecture; a Provisioner's are
 * amd64 by default.
 */
const imagesOfOwnTemplate: readonly ResolvedAmi[] = (['amd64', 'arm64'] as const).flatMap((arch) =>
  (['standard', 'nvidia', 'neuron'] as const).map((variant) => ({
    id: '',
    name: '',
    deprecated: false,
    arch,
    variant,
  })),
);

/** The images of a class, and the parameters that named them. */
export type FoundImages = {
  readonly amis: NodeClassStatus['amis'];
  readonly parameters: ImageParameters;
};

/** Looks up the images that a class selects. Rejects with CloudError. */
export async function findImages(
  cloud: ImageDiscovery,
  nodeClass: NodeClass,
  kubernetesVersion: string,
): Promise<Part<FoundImages>> {
  if (nodeClass.launchTemplateName !== undefined)
    return { kind: 'found', value: { amis: imagesOfOwnTemplate, parameters: new Map() } };
  const queries = amiQueriesOf(nodeClass, kubernetesVersion);
  if (!queries.ok) return missing('AMIsReady', queries.reason, queries.message);
  const answers = await Promise.all(
    queries.queries.map(async (query): Promise<AmiAnswer> => ({
      query,
      images: await imagesOf(cloud, query),
    })),
  );
  const amis = chooseAmis(answers);
  const parameters = new Map(
    answers.flatMap(({ query, images }) =>
      query.kind === 'parameter' ? images.map(({ id }) => [id, query.name] as const) : [],
    ),
  );
  if (amis.length > 0) return { kind: 'found', value: { amis, parameters } };
  return missing(
    'AMIsReady',
    'AMINotFound',
    `no image matches ${JSON.stringify(nodeClass.amiSelectorTerms)} and Kubernetes ${kubernetesVersion}: change amiSelectorTerms`,
  );
}

async function imagesOf(cloud: ImageDiscovery, query: AmiQuery): Promise<readonly Image[]> {
  if (query.kind === 'images')
    return cloud.images({
      filters: query.filters,
      ...(query.ids === undefined ? {} : { ids: query.ids }),
      ...(query.owners === undefined ? {} : { owners: query.owners }),
    });
  const id = await cloud.parameter(query.name);
  return id === undefined ? [] : cloud.images({ ids: [id], filters: [] });
}
