import { type KubeApi, KubeError, type KubeResource, kubeResources } from '@dovetail/core-ports';
import { targetOf } from '@dovetail/test-support/chart-roles';

/** The rights of a service, and who hears what it does with them. */
export type KubeGuard = {
  /** `verb kind`, or `verb kind name` for one object. */
  readonly rights: ReadonlySet<string>;
  /** Called with each right that is used. */
  readonly used: (right: string) => void;
  /** Called for each denial, because a service may try again for ever. */
  readonly denied: (what: string) => void;
};

/** The error of a verb that the rights do not have; undefined if they have it. */
type Check = (
  verb: string,
  resource: KubeResource,
  about?: { readonly name?: string; readonly sub?: string },
) => KubeError | undefined;

const checkOf =
  ({ rights, used, denied }: KubeGuard): Check =>
  (verb, { group, plural }, { name = '', sub } = {}) => {
    const asked = `${verb} ${targetOf(group, sub === undefined ? plural : `${plural}/${sub}`)}`;
    const held = [asked, `${asked} ${name}`].find((right) => rights.has(right));
    if (held === undefined) {
      denied(`${asked} ${name} is not among its rights`);
      return new KubeError('denied', `forbidden: ${asked} ${name}`);
    }
    used(held);
    return undefined;
  };

/**
 * The answer, unless the call is refused. The answer itself is passed on: another promise around it
 * would change the order of what happens at one moment, and so the stories.
 */
const unless = <T>(refusal: KubeError | undefined, answer: () => Promise<T>): Promise<T> =>
  refusal === undefined ? answer() : Promise.reject(refusal);

const pods: KubeResource = kubeResources.pods;

/** Kubernetes judges a list that selects one object by its name as a request for that object. */
const oneOf = (fieldSelector = ''): { readonly name?: string } => {
  const [, name] = /^metadata\.name=([^,]+)$/.exec(fieldSelector) ?? [];
  return name === undefined ? {} : { name };
};

/** The API server as it answers an account with these rights: all else is denied. */
export function guardedKube(kube: KubeApi, guard: KubeGuard): KubeApi {
  const check = checkOf(guard);
  return {
    ...kube,
    watch: (options, stop) => {
      const refusal = check('list', options.resource) ?? check('watch', options.resource);
      if (refusal !== undefined) throw refusal;
      return kube.watch(options, stop);
    },
    list: (resource, options) =>
      unless(check('list', resource, oneOf(options?.fieldSelector)), () =>
        kube.list(resource, options),
      ),
    get: (ref) => unless(check('get', ref.resource, ref), () => kube.get(ref)),
    create: (resource, object) =>
      unless(check('create', resource), () => kube.create(resource, object)),
    patch: (ref, patch, options) => {
      const sub = options?.subresource;
      const about = { name: ref.name, ...(sub === undefined ? {} : { sub }) };
      return unless(check('patch', ref.resource, about), () => kube.patch(ref, patch, options));
    },
    replace: (resource, object, options) =>
      unless(check('update', resource, { name: object.metadata.name }), () =>
        kube.replace(resource, object, options),
      ),
    delete: (ref, options) =>
      unless(check('delete', ref.resource, ref), () => kube.delete(ref, options)),
    evict: (pod) => unless(check('create', pods, { sub: 'eviction' }), () => kube.evict(pod)),
    bind: (pod, nodeName) =>
      unless(check('create', pods, { sub: 'binding' }), () => kube.bind(pod, nodeName)),
  };
}
