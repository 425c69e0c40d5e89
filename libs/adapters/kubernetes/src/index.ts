export { namesCluster, trustedCa } from './cluster-ca.js';
export { connectKubernetes } from './kube-api.js';
