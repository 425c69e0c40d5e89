import { type KubeResource, kubeResources } from '@dovetail/core-ports';
import { rightsIn, type Rule, targetOf } from '@dovetail/test-support/chart-roles';

export const services = ['pod-watcher', 'solver', 'launcher', 'reaper'] as const;

export type Service = (typeof services)[number];

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

/** The rights of rules for every object, as `verb kind`. Those for named objects are left out. */
export const rightsOf = (rules: readonly Rule[]): readonly string[] =>
  rightsIn(rules.filter(({ resourceNames }) => resourceNames === undefined));

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
