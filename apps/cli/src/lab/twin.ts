import { compareText } from '@dovetail/core-kube-model';
import { messageOf } from '@dovetail/core-ports';
import { closest } from '@dovetail/core-scheduling';

import { labAddress, labFiles } from './addresses.js';

/** Exit codes: done; bad flags, or a lever that the lab refuses; no such node; no lab answers. */
export const labExitCodes = { done: 0, refused: 64, notFound: 66, unavailable: 69 } as const;

/** A lever that does not move. The message says why, and what to do. */
export class LabError extends Error {
  override readonly name = 'LabError';
  readonly exitCode: number;

  constructor(exitCode: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/** An instance of the lab's EC2. */
export type Machine = {
  readonly instanceId: string;
  /** The name that its Node has or will have. */
  readonly privateDnsName: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: 'on-demand' | 'spot';
  readonly state: string;
  readonly launchedMs: number;
  readonly kubernetesVersion?: string;
  /** Micro-dollars an hour, at the price of now. */
  readonly hourlyPriceMicros?: number;
  readonly tags: Readonly<Record<string, string>>;
};

/** The longest wait for the twin, which answers from memory. In milliseconds. */
const timeoutMs = 10_000;

/** The control API of the lab's cloud twin, under `/_twin/`. */
export class LabTwin {
  readonly #url: string;

  /** Throws LabError if no lab runs in this folder. */
  constructor(url = labAddress('cloud')) {
    if (url === undefined)
      throw new LabError(
        labExitCodes.unavailable,
        `no lab runs in this folder (there is no ${labFiles.cloud}): start one with make lab, or go to the folder of one that runs`,
      );
    this.#url = url;
  }

  /** Asks or orders. Throws LabError if the twin refuses, or does not answer. */
  async ask<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<T> {
    const response = await this.#fetch(method, path, body);
    const text = await response.text();
    if (response.ok) return JSON.parse(text) as T;
    throw new LabError(labExitCodes.refused, `the lab refuses: ${refusalOf(text)}`);
  }

  async #fetch(method: string, path: string, body: unknown): Promise<Response> {
    try {
      return await fetch(new URL(`/_twin/${path}`, this.#url), {
        method,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(timeoutMs),
      });
    } catch (error) {
      const { cause } = error as { readonly cause?: unknown };
      throw new LabError(
        labExitCodes.unavailable,
        `the lab at ${this.#url} does not answer (${messageOf(cause ?? error)}): start it again with make lab`,
        { cause: error },
      );
    }
  }

  /** The instances that have not ended, in the order of their launch. */
  async machines(): Promise<readonly Machine[]> {
    const all = await this.ask<readonly Machine[]>('GET', 'instances');
    return all
      .filter(({ state }) => state !== 'terminated' && state !== 'shutting-down')
      .sort((a, b) => a.launchedMs - b.launchedMs || compareText(a.instanceId, b.instanceId));
  }

  /** The instance of a node, by the name of the Node or its NodeClaim, or by its own id. */
  async machine(name: string): Promise<Machine> {
    const machines = await this.machines();
    const found = machines.find((one) => namesOf(one).includes(name));
    if (found !== undefined) return found;
    const near = closest(name, machines.flatMap(namesOf));
    const hint = near === undefined ? '' : `; did you mean ${near}?`;
    throw new LabError(
      labExitCodes.notFound,
      `the lab has no node, claim or instance ${name}${hint} (dovetail lab instances lists them)`,
    );
  }
}

/** The tag that names the NodeClaim of an instance, as Karpenter writes it. */
const claimTag = 'karpenter.sh/nodeclaim';

/** The name of the NodeClaim of an instance. */
export const claimOf = ({ tags }: Machine): string | undefined => tags[claimTag];

const namesOf = (machine: Machine): readonly string[] => [
  machine.privateDnsName,
  ...[claimOf(machine) ?? []].flat(),
  machine.instanceId,
];

function refusalOf(text: string): string {
  try {
    const { message } = JSON.parse(text) as { readonly message?: unknown };
    return typeof message === 'string' ? message : text;
  } catch {
    return text;
  }
}
