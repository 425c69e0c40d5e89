import { classifyFleetError } from '@dovetail/core-ec2-model';
import { CloudError } from '@dovetail/core-ports';

import { AwsFault } from '../foundation/aws-fault.js';
import type { CloudTwin } from '../twin/cloud-twin.js';

/** Runs an effect as the AWS action it stands for. `resources` are the instances that it names. */
export type Run = <T>(
  action: string,
  effect: () => T | Promise<T>,
  resources?: number,
) => Promise<T>;

const cloudErrorOf = (error: unknown): unknown =>
  error instanceof AwsFault
    ? new CloudError(classifyFleetError(error.code).code, error.code, error.message, {
        cause: error,
      })
    : error;

/**
 * Every call passes the gate, so that counts, limits and ordered failures hold without a wire too.
 */
export function runnerFor(twin: CloudTwin): Run {
  return async (action, effect, resources = 1) => {
    try {
      return await twin.gate.run(action, { resources }, effect);
    } catch (error) {
      throw cloudErrorOf(error);
    }
  };
}

/** Runs the effect, and accepts the fault that says it is already so. */
export function unless(code: string, effect: () => unknown): boolean {
  try {
    effect();
    return true;
  } catch (error) {
    if (!(error instanceof AwsFault) || error.code !== code) throw error;
    return false;
  }
}
