import {
  type KubeCreates,
  type KubeDeletes,
  type KubeDiscovery,
  type KubePatches,
  type KubeReads,
  type KubeWatches,
  type Leadership,
  LeadershipLost,
  type StopSignal,
} from '@dovetail/core-ports';

/** The right to write: one epoch of a leader. */
export type Office = {
  readonly leadership: Pick<Leadership, 'held'>;
  /** Aborted when the epoch ends. */
  readonly stop: StopSignal;
};

/** A call that is made only while the office lasts. Rejects with LeadershipLost after it. */
export const whileLeading =
  <A extends readonly unknown[], R>(
    { leadership, stop }: Office,
    write: (...given: A) => Promise<R>,
  ): ((...given: A) => Promise<R>) =>
  (...given) =>
    stop.aborted || !leadership.held()
      ? Promise.reject(new LeadershipLost('the epoch has ended: another replica may lead'))
      : write(...given);

/** The calls that every leader makes. */
type LeaderKube = KubeWatches & KubeReads & KubeDiscovery & KubeCreates & KubePatches & KubeDeletes;

/** The same calls. Reads pass through; each write is refused once the office is over. */
export const kubeWhileLeading = (office: Office, kube: LeaderKube): LeaderKube => ({
  watch: (options, stop) => kube.watch(options, stop),
  list: (resource, options) => kube.list(resource, options),
  get: (ref) => kube.get(ref),
  serves: (resource) => kube.serves(resource),
  serverVersion: () => kube.serverVersion(),
  create: whileLeading(office, (resource, object) => kube.create(resource, object)),
  patch: whileLeading(office, (ref, patch, options) => kube.patch(ref, patch, options)),
  delete: whileLeading(office, (ref, options) => kube.delete(ref, options)),
});
