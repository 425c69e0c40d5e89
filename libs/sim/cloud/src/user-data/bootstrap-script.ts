import {
  type BootConfig,
  BootError,
  type BootOutcome,
  checkedLabels,
  countOf,
  outcomeOf,
  taintOf,
} from './config.js';
import type { UserDataPart, UserDataParts } from './mime.js';
import { commandsOf, wordsOf } from './shell.js';

const bootstrapPath = '/etc/eks/bootstrap.sh';

/** Whether a script calls AL2's bootstrap. */
export const callsBootstrap = (script: string): boolean => script.includes(bootstrapPath);

/** Options of bootstrap.sh that take a value. */
const valued: ReadonlySet<string> = new Set([
  '--apiserver-endpoint',
  '--b64-cluster-ca',
  '--kubelet-extra-args',
  '--use-max-pods',
  '--dns-cluster-ip',
  '--ip-family',
  '--service-ipv6-cidr',
  '--container-runtime',
  '--containerd-config-file',
  '--docker-config-json',
  '--enable-docker-bridge',
  '--enable-local-outpost',
  '--cluster-id',
  '--aws-api-retry-attempts',
  '--pause-container-account',
  '--pause-container-version',
  '--local-disks',
]);

type Call = { readonly clusterName: string; readonly options: ReadonlyMap<string, string> };

function callOf(words: readonly string[]): Call {
  const options = new Map<string, string>();
  const positional: string[] = [];
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? '';
    if (!word.startsWith('--')) {
      positional.push(word);
      continue;
    }
    if (!valued.has(word)) throw new BootError(`bootstrap.sh: unknown option ${word}`);
    index += 1;
    const value = words[index];
    if (value === undefined) throw new BootError(`bootstrap.sh: ${word} has no value`);
    options.set(word, value);
  }
  const [clusterName] = positional;
  if (clusterName === undefined || clusterName === '')
    throw new BootError('bootstrap.sh: CLUSTER_NAME is not defined');
  return { clusterName, options };
}

/** `k=v,k=v` with the separator that the flag uses. */
function pairsOf(text: string, between: '=' | '<'): (readonly [string, string])[] {
  return text
    .split(',')
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '')
    .map((pair) => {
      const at = pair.indexOf(between);
      return at < 0 ? ([pair, ''] as const) : ([pair.slice(0, at), pair.slice(at + 1)] as const);
    });
}

/** The kubelet's `--register-with-taints`: key=value:Effect or key:Effect, separated by commas. */
function taintsOf(text: string): BootConfig['taints'] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
    .map((item) => {
      const [head = '', effect = ''] = item.split(':');
      const [key = '', value] = head.split('=');
      return taintOf(key, value, effect);
    });
}

/** The kubelet's flags: `--name=value` or `--name value`; a later one wins. */
export function kubeletFlags(words: readonly string[]): ReadonlyMap<string, string> {
  const flags = new Map<string, string>();
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? '';
    if (!word.startsWith('--')) throw new BootError(`kubelet: unknown argument ${word}`);
    const at = word.indexOf('=');
    const next = words[index + 1];
    if (at > 0) flags.set(word.slice(2, at), word.slice(at + 1));
    else if (next !== undefined && !next.startsWith('--')) {
      flags.set(word.slice(2), next);
      index += 1;
    } else flags.set(word.slice(2), 'true');
  }
  return flags;
}

/** The kubelet's flags as settings of the Node and its reservations. */
export function configFromFlags(
  flags: ReadonlyMap<string, string>,
): Omit<BootConfig, 'family' | 'raid0'> {
  const podsMax = flags.get('max-pods');
  const podsPerCore = flags.get('pods-per-core');
  return {
    labels: checkedLabels(pairsOf(flags.get('node-labels') ?? '', '=')),
    taints: taintsOf(flags.get('register-with-taints') ?? ''),
    ...(podsMax === undefined ? {} : { podsMax: countOf('kubelet --max-pods', podsMax) }),
    ...(podsPerCore === undefined
      ? {}
      : { podsPerCore: countOf('kubelet --pods-per-core', podsPerCore) }),
    kubeReserved: Object.fromEntries(pairsOf(flags.get('kube-reserved') ?? '', '=')),
    systemReserved: Object.fromEntries(pairsOf(flags.get('system-reserved') ?? '', '=')),
    evictionHard: Object.fromEntries(pairsOf(flags.get('eviction-hard') ?? '', '<')),
  };
}

function configOf({ clusterName, options }: Call): BootConfig {
  const flags = configFromFlags(kubeletFlags(wordsOf(options.get('--kubelet-extra-args') ?? '')));
  const endpoint = options.get('--apiserver-endpoint');
  const certificateAuthority = options.get('--b64-cluster-ca');
  const clusterDns = options.get('--dns-cluster-ip');
  return {
    ...flags,
    family: 'AL2',
    clusterName,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(certificateAuthority === undefined ? {} : { certificateAuthority }),
    ...(clusterDns === undefined ? {} : { clusterDns }),
    raid0: options.get('--local-disks') === 'raid0',
  };
}

const isScript = (part: UserDataPart): boolean =>
  part.contentType === 'text/x-shellscript' && part.body.trimStart().startsWith('#!');

/** AL2 runs every shell script part in order. The last call of bootstrap.sh counts. */
export function bootFromScripts(userData: UserDataParts): BootOutcome {
  return outcomeOf(() => {
    if (userData.problem !== undefined) throw new BootError(userData.problem);
    const calls = userData.parts
      .filter(isScript)
      .flatMap((part) => commandsOf(part.body))
      .filter((words) => words.includes(bootstrapPath));
    const last = calls.at(-1);
    if (last === undefined)
      throw new BootError(`no shell script in the user data calls ${bootstrapPath}`);
    return configOf(callOf(last.slice(last.indexOf(bootstrapPath) + 1)));
  });
}
