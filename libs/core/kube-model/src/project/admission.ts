import { lookUp, put } from '@dovetail/core-invariant';

import { isRecord, type Raw } from './raw.js';

/**
 * The cluster's objects by which the API server changes a pod on its way in, as they stand in the
 * API. All are raw, because pods are changed before they are read.
 */
export type AdmissionObjects = {
  /** The LimitRanges of a namespace, in the order in which they apply. */
  readonly limitRanges: (namespace: string) => readonly Raw[];
  /** The RuntimeClass of that name, if it exists. */
  readonly runtimeClass: (name: string) => Raw | undefined;
};

const record = (value: unknown): Raw => (isRecord(value) ? value : {});
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Default requests and limits of the containers of a namespace. */
type ContainerDefaults = { readonly requests: Raw; readonly limits: Raw };

/**
 * The defaults of one item of a LimitRange, as the API server completes them
 * (SetDefaults_LimitRangeItem). Limits default to the maximum. Requests default to the default
 * limits, and else to the minimum.
 */
function defaultsOfItem(item: Raw): ContainerDefaults {
  const limits = { ...record(item['max']), ...record(item['default']) };
  return {
    limits,
    requests: { ...record(item['min']), ...limits, ...record(item['defaultRequest']) },
  };
}

function defaultsOf(limitRanges: readonly Raw[]): ContainerDefaults {
  const items = limitRanges
    .flatMap((range) => list(record(range['spec'])['limits']))
    .map(record)
    .filter((item) => item['type'] === 'Container')
    .map(defaultsOfItem);
  // The plug-in goes through the ranges in order, and a value that is there stays.
  return items.reduceRight(
    (later, item) => ({
      limits: { ...later.limits, ...item.limits },
      requests: { ...later.requests, ...item.requests },
    }),
    { limits: {}, requests: {} },
  );
}

function withDefaults(container: unknown, defaults: ContainerDefaults): unknown {
  if (!isRecord(container)) return container;
  const resources = record(container['resources']);
  const given = record(resources['limits']);
  // The API server's own default comes first: a limit without a request is the request.
  const requests = { ...defaults.requests, ...given, ...record(resources['requests']) };
  const limits = { ...defaults.limits, ...given };
  return { ...container, resources: { ...resources, requests, limits } };
}

/**
 * A pod's spec with the default requests and limits of its namespace's LimitRanges (the admission
 * plug-in LimitRanger). Anything that is not as the API has it stays as it is, for the reader to
 * refuse.
 */
function withLimitRanges(spec: Raw, limitRanges: readonly Raw[]): Raw {
  const defaults = defaultsOf(limitRanges);
  if (Object.keys(defaults.requests).length === 0) return spec;
  const changed: Record<string, unknown> = { ...spec };
  for (const field of ['containers', 'initContainers']) {
    const containers = lookUp(spec, field);
    if (Array.isArray(containers))
      put(
        changed,
        field,
        containers.map((one: unknown) => withDefaults(one, defaults)),
      );
  }
  return changed;
}

/** A pod's spec with its RuntimeClass' overhead, selector and tolerations. */
function withRuntimeClass(spec: Raw, runtimeClass: Raw | undefined): Raw {
  if (runtimeClass === undefined) return spec;
  const scheduling = record(runtimeClass['scheduling']);
  const overhead = record(runtimeClass['overhead'])['podFixed'];
  return {
    ...spec,
    ...(spec['overhead'] === undefined && overhead !== undefined ? { overhead } : {}),
    ...(scheduling['nodeSelector'] === undefined
      ? {}
      : {
          nodeSelector: { ...record(spec['nodeSelector']), ...record(scheduling['nodeSelector']) },
        }),
    ...(scheduling['tolerations'] === undefined
      ? {}
      : { tolerations: [...list(spec['tolerations']), ...list(scheduling['tolerations'])] }),
  };
}

/**
 * A pod's spec as the API server's admission plug-ins LimitRanger and RuntimeClass make it. A
 * template is not a pod: only the pods that are made of it are changed. So a daemonset's template
 * says less than its pods will ask for.
 */
export function admittedSpec(spec: Raw, namespace: string, objects: AdmissionObjects): Raw {
  const name = spec['runtimeClassName'];
  const runtimeClass = typeof name === 'string' ? objects.runtimeClass(name) : undefined;
  return withLimitRanges(
    withRuntimeClass(spec, runtimeClass),
    objects.limitRanges(namespace === '' ? 'default' : namespace),
  );
}

/** A workload whose template's spec is as its pods' will be. Other objects stay as they are. */
export function withAdmittedTemplate<T extends Raw>(workload: T, objects: AdmissionObjects): T {
  const spec = record(workload['spec']);
  const template = record(spec['template']);
  if (!isRecord(template['spec'])) return workload;
  const { namespace } = record(workload['metadata']);
  const admitted = admittedSpec(
    template['spec'],
    typeof namespace === 'string' ? namespace : '',
    objects,
  );
  return { ...workload, spec: { ...spec, template: { ...template, spec: admitted } } };
}
