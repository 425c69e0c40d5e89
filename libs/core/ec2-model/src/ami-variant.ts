import type { ResolvedAmi } from '@dovetail/core-api';

/** The devices that an image has drivers for. */
export type AmiVariant = ResolvedAmi['variant'];

/**
 * Every variant. An image that the class' author chose stands once for each, because Dovetail
 * cannot see its drivers.
 */
export const allVariants: readonly AmiVariant[] = ['standard', 'nvidia', 'neuron'];
