import { formatResource } from '@dovetail/core-kube-model';

/** An amount of a resource in Kubernetes' spelling, exactly; less than nothing shows as nothing. */
export const shown = (name: string, amount: number): string =>
  formatResource(name, Math.max(0, amount));

const binary = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

/**
 * An amount in the unit in which another one is shown, so that a reader can compare the two:
 * `3788.5Mi` beside `3789Mi`, not `3879424Ki`. Rounded down to hundredths, so that it is free.
 */
export function shownBeside(name: string, amount: number, other: number): string {
  const exact = shown(name, amount);
  const unit = shown(name, other).replace(/^[\d.]+/, '');
  const power = binary.indexOf(unit) + 1;
  if (power === 0 || exact.endsWith(unit)) return exact;
  const hundredths = Math.floor((Math.max(0, amount) * 100) / 1024 ** power);
  return hundredths === 0 ? exact : `${String(hundredths / 100)}${unit}`;
}
