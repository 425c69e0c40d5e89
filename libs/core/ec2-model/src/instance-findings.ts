/** A finding of EC2 against an instance. Times are milliseconds since 1970. */
export type InstanceFinding =
  /** A status check of the instance or of its host has failed since this time. */
  | { readonly kind: 'instance-check' | 'system-check'; readonly sinceMs: number }
  /** EC2 has scheduled an event that stops or restarts the instance: `instance-retirement`, … */
  | { readonly kind: 'event'; readonly code: string };

/** An instance with findings. Invariant: there is at least one finding. */
export type ImpairedInstance = {
  readonly id: string;
  readonly findings: readonly InstanceFinding[];
};

/**
 * The codes of scheduled events that end or interrupt the work of an instance: all that EC2 has
 * (`EventCode` of its API).
 */
export const scheduledEventCodes: readonly string[] = [
  'instance-reboot',
  'instance-retirement',
  'instance-stop',
  'system-maintenance',
  'system-reboot',
];
