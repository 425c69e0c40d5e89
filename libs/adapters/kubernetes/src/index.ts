export { connectKubernetes } from './kube-api.js';
export type { KubernetesOptions, ManifestApi } from './kube-api.js';
