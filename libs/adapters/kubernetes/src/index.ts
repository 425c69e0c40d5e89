export { connectKubernetes, type KubernetesOptions } from './kube-api.js';
