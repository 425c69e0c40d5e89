import type { Pod } from '../../pod.js';
import { podOf } from '../pod.js';
import type { Parsed } from '../raw.js';

/** The metadata that every object of these tests carries. */
export const metadata = {
  name: 'one',
  namespace: 'team',
  uid: 'u-1',
  resourceVersion: '7',
  labels: { app: 'web' },
  creationTimestamp: '2026-01-01T00:00:00Z',
};

/** The value that was read; throws with field and remedy when it was refused. */
export const valueOf = <T>(parsed: Parsed<T>): T => {
  if (!parsed.ok) throw new Error(`${parsed.field}: ${parsed.remedy}`);
  return parsed.value;
};

/** A pod with this spec and the common metadata. */
export const podWith = (spec: object, more: object = {}): Pod =>
  valueOf(podOf({ metadata, spec, ...more }));
