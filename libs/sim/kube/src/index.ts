export type { BootedInstance, InstanceTaint } from './agent/instance.js';
export type { NodeAgentOptions } from './agent/node-agent.js';
export { createNodeAgent, NodeAgent } from './agent/node-agent.js';
export { endingAnnotations } from './agent/pod-status.js';
export type { Cancel, SimClock } from './ambient/clock.js';
export { createManualClock, createOffsetClock } from './ambient/clock.js';
export type {
  ControllerName,
  ControllerOptions,
  RunningControllers,
} from './controllers/controllers.js';
export { startKubeControllers } from './controllers/controllers.js';
export type { ServedKube, ServeOptions } from './http/server.js';
export { serveKube } from './http/server.js';
export type { KubeStoreOptions } from './kube-store.js';
export { createKubeStore } from './kube-store.js';
export { StatusError } from './model/errors.js';
export type { SentObject, StoredObject } from './model/objects.js';
export type { ServedResource, Subresource } from './model/served-resources.js';
export { initialNamespaces, servedResources, servedVersion } from './model/served-resources.js';
export { inProcessKube, kubeErrorOf } from './port/in-process.js';
export type { ResourceType } from './store/registry.js';
export type { Ref } from './store/store.js';
export { KubeStore } from './store/store.js';
export type { WatchMessage } from './store/watch.js';
