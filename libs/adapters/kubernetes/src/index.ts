export { connectKubernetes } from './kube-api.js';
export type { KubernetesOptions } from './kube-api.js';
