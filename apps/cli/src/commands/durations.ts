import { parseDurationMs } from '@dovetail/core-kube-model';
import { InvalidArgumentError } from 'commander';

/** A duration such as `90s`, from 0 on, in milliseconds. */
export function duration(text: string): number {
  const ms = parseDurationMs(text);
  if (ms === undefined || ms < 0)
    throw new InvalidArgumentError('write a duration from 0s on, such as 30s, 10m or 1h30m.');
  return ms;
}
