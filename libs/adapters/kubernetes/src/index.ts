export { connectKubernetes } from './kube-api.js';
