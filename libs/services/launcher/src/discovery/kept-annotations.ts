import { lookUp } from '@dovetail/core-invariant';
import type { KubeObject } from '@dovetail/core-ports';
import type { Change } from '@dovetail/service-kit';

/** The change that puts annotations on; undefined when the object has all of them. */
export const withAnnotations = (
  { annotations = {} }: Pick<KubeObject['metadata'], 'annotations'>,
  wanted: Readonly<Record<string, string>>,
): Change =>
  Object.entries(wanted).every(([key, value]) => lookUp(annotations, key) === value)
    ? undefined
    : { metadata: { annotations: wanted } };
