import { type KubeResource, kubeResources } from '@dovetail/core-ports';

export const services = ['pod-watcher', 'solver', 'launcher', 'reaper'] as const;

export type Service = (typeof services)[number];

/** A rule of a role. */
export type Rule = {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
};

const verbs = [
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
] as const;

/** `pods/eviction`, `nodes`, `nodepools.karpenter.sh/status`: a kind as kubectl writes it. */
const targetOf = (group: string, resource: string): string => {
  const [plural = '', subresource] = resource.split('/');
  const kind = group === '' ? plural : `${plural}.${group}`;
  return subresource === undefined ? kind : `${kind}/${subresource}`;
};

/** The rights of rules for every object, as `verb kind`. Those for named objects are left out. */
export const rightsOf = (rules: readonly Rule[]): readonly string[] => [
  ...new Set(
    rules
      .filter(({ resourceNames }) => resourceNames === undefined)
      .flatMap((rule) =>
        rule.apiGroups.flatMap((group) =>
          rule.resources.flatMap((resource) =>
            rule.verbs.map((verb) => `${verb} ${targetOf(group, resource)}`),
          ),
        ),
      ),
  ),
];

/** Kinds that Dovetail has no use for, which would be worth a theft. */
const sensitive = [
  ...[
    'secrets',
    'configmaps',
    'serviceaccounts',
    'serviceaccounts/token',
    'replicationcontrollers',
  ],
  ...['pods/exec', 'pods/attach', 'pods/portforward', 'pods/ephemeralcontainers', 'nodes/proxy'],
  ...['deployments.apps', 'statefulsets.apps', 'jobs.batch', 'cronjobs.batch'],
  ...['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'].map(
    (kind) => `${kind}.rbac.authorization.k8s.io`,
  ),
  'customresourcedefinitions.apiextensions.k8s.io',
  'validatingwebhookconfigurations.admissionregistration.k8s.io',
  'certificatesigningrequests.certificates.k8s.io/approval',
];

const subresources = ['', '/status', '/finalizers', '/scale'];
const kinds: readonly KubeResource[] = Object.values(kubeResources);

/** Every verb of every kind that Dovetail knows and of its subresources, and of sensitive kinds. */
export const neighbours: readonly string[] = [
  ...kinds.flatMap(({ group, plural }) =>
    subresources.map((subresource) => targetOf(group, `${plural}${subresource}`)),
  ),
  ...['binding', 'eviction', 'log'].map((subresource) => `pods/${subresource}`),
  ...sensitive,
]
  .flatMap((kind) => verbs.map((verb) => `${verb} ${kind}`))
  .concat('impersonate users', 'impersonate groups', 'escalate clusterroles', 'bind clusterroles');
