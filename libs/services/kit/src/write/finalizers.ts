import type { Change } from './change-guarded.js';

type Finalized = { readonly finalizers?: readonly string[] };

/** The change that puts a finalizer on; undefined when it is on already. */
export const withFinalizer = (metadata: Finalized, finalizer: string): Change => {
  const held = metadata.finalizers ?? [];
  return held.includes(finalizer) ? undefined : { metadata: { finalizers: [...held, finalizer] } };
};

/** The change that takes a finalizer off; undefined when it is not on. */
export const withoutFinalizer = (metadata: Finalized, finalizer: string): Change => {
  const held = metadata.finalizers ?? [];
  return held.includes(finalizer)
    ? { metadata: { finalizers: held.filter((each) => each !== finalizer) } }
    : undefined;
};
