import {
  type KubeCreates,
  type KubeDeletes,
  type KubePatches,
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

/** The writes that every leader makes. */
type LeaderWrites = KubeCreates & KubePatches & KubeDeletes;

/** The same writes, each refused once the office is over. */
export const kubeWhileLeading = (office: Office, kube: LeaderWrites): LeaderWrites => ({
  create: whileLeading(office, (resource, object) => kube.create(resource, object)),
  patch: whileLeading(office, (ref, patch, options) => kube.patch(ref, patch, options)),
  delete: whileLeading(office, (ref, options) => kube.delete(ref, options)),
});
