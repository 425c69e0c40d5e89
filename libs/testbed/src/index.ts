export type { Lab } from './lab/lab.js';
export { startLab } from './lab/lab.js';
export type { ControlPlaneKind, LabOptions } from './lab/options.js';
export { defaultLabOptions } from './lab/options.js';
export type { ControlPlanePaths, ControlPlanePrograms } from './obtain/control-plane.js';
export { obtainControlPlane } from './obtain/control-plane.js';
export { obtainHelm, obtainKubectl } from './obtain/kubectl.js';
export { natsVersionMin, obtainNatsServer } from './obtain/nats-server.js';
export type { ObtainOptions, Program, Unavailable } from './obtain/obtained.js';
export { defaultCacheDir } from './obtain/obtained.js';
export { isUnavailable } from './obtain/obtained.js';
export type {
  ControlPlaneOptions,
  ControlPlaneParts,
  RunningControlPlane,
} from './parts/control-plane.js';
export { startControlPlane } from './parts/control-plane.js';
export type { ControlPlanePorts } from './parts/control-plane-args.js';
export { controllersDefault } from './parts/control-plane-args.js';
export type { MotoOptions } from './parts/moto.js';
export { obtainMoto, startMoto } from './parts/moto.js';
export type { NatsOptions, RunningNats } from './parts/nats.js';
export { startNats } from './parts/nats.js';
export { TestbedError } from './process/errors.js';
export type { HttpAnswer, HttpRequest } from './process/http.js';
export { httpRequest } from './process/http.js';
export type { PartSpec, RunningPart } from './process/part.js';
export { isAlive, startPart } from './process/part.js';
export { freePort } from './process/ports.js';
export type { Output, RunOptions } from './process/run.js';
export { run } from './process/run.js';
export type { WaitLimits } from './process/wait.js';
export { waitFor } from './process/wait.js';
