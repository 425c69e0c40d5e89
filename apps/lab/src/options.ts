import { join } from 'node:path';

import { catalogRegions, catalogZones } from '@dovetail/core-ec2-model';
import { lookUp } from '@dovetail/core-invariant';
import { messageOf } from '@dovetail/core-ports';
import { commonSettings } from '@dovetail/runtime';
import { defaultLabOptions, type LabOptions, TestbedError } from '@dovetail/testbed';

import { applyCustomResources } from './custom-resources.js';

/** Options from the environment, as the Makefile passes them. */
export function labOptions(
  dir: string,
  progress: (line: string) => void,
  env = process.env,
): LabOptions {
  autoscalerOf(env);
  const region = regionOf(env);
  const zones = zonesOf(env, region);
  return {
    ...defaultLabOptions,
    dir,
    distDir: import.meta.dirname,
    progress,
    solvers: solversOf(env),
    world: oneOf(env, 'REAL', ['0', '1']) === '1' ? 'real' : 'twin',
    region,
    clusterName: clusterNameOf(env['CLUSTER_NAME'] || defaultLabOptions.clusterName),
    prepare: (kubeconfig) =>
      applyCustomResources(kubeconfig, join(import.meta.dirname, '..', 'deploy', 'crds')),
    ...(zones === undefined ? {} : { zones }),
    placement: oneOf(env, 'PLACEMENT', ['bind', 'scheduler']),
  };
}

/** The name, by the services' own rule. Throws TestbedError for one that they would refuse. */
function clusterNameOf(name: string): string {
  try {
    return commonSettings.clusterName.parse(name);
  } catch (error) {
    throw new TestbedError({ failed: `CLUSTER_NAME is ${name}`, remedy: messageOf(error) });
  }
}

/** The value of a variable; empty: the first choice. Throws TestbedError for another one. */
function oneOf<Choice extends string>(
  env: NodeJS.ProcessEnv,
  name: string,
  choices: readonly [Choice, ...Choice[]],
): Choice {
  const given = lookUp(env, name) || choices[0];
  const choice = choices.find((each) => each === given);
  if (choice === undefined)
    throw new TestbedError({
      failed: `${name} is ${given}`,
      remedy: `give ${choices.join(' or ')}, or leave it out for ${choices[0]}`,
    });
  return choice;
}

function solversOf(env: NodeJS.ProcessEnv): number {
  const solvers = Number(env['SOLVERS'] ?? '1');
  if (!Number.isInteger(solvers) || solvers < 1 || solvers > 20)
    throw new TestbedError({
      failed: `SOLVERS is ${env['SOLVERS'] ?? ''}`,
      remedy: 'give a number of solver processes from 1 to 20',
    });
  return solvers;
}

function regionOf(env: NodeJS.ProcessEnv): string {
  const region = env['REGION'] || defaultLabOptions.region;
  if (!catalogRegions().includes(region))
    throw new TestbedError({
      failed: `REGION is ${region}`,
      remedy: `give a region that the cloud twin knows: ${catalogRegions().join(', ')}`,
    });
  return region;
}

/** The zones by their names or last letters, as the cloud twin takes them. Undefined: all. */
function zonesOf(env: NodeJS.ProcessEnv, region: string): readonly string[] | undefined {
  if (!env['ZONES']) return undefined;
  const zones = env['ZONES'].split(',');
  const known = catalogZones(region).map(({ name }) => name);
  const unknown = zones.find(
    (zone) => ![zone, `${region}${zone}`].some((one) => known.includes(one)),
  );
  if (unknown !== undefined)
    throw new TestbedError({
      failed: `ZONES names ${unknown === '' ? 'an empty zone' : unknown}`,
      remedy: `give zones of ${region}, separated by commas: ${known.join(', ')}`,
    });
  return zones;
}

/** Which autoscaler the environment asks for. Throws TestbedError for another word. */
export function autoscalerOf(env: NodeJS.ProcessEnv): 'dovetail' | 'karpenter' {
  const name = oneOf(env, 'AUTOSCALER', ['dovetail', 'karpenter']);
  if (name === 'karpenter' && env['REAL'] !== '1')
    throw new TestbedError({
      failed: 'AUTOSCALER=karpenter was only tried on the real control plane',
      remedy: 'run make lab REAL=1 AUTOSCALER=karpenter',
    });
  return name;
}
