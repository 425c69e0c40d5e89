import { lookUp } from '@dovetail/core-invariant';

import {
  isUnavailable,
  obtainControlPlane,
  obtainHelm,
  obtainKarpenter,
  obtainKubectl,
  obtainMoto,
  obtainNatsCommand,
  obtainNatsServer,
  type ObtainOptions,
  obtainPythonSubscriber,
  obtainStackLinters,
  type Program,
  type Unavailable,
} from '../src/index.js';

type Row = { readonly part: string } & (Program | Unavailable);

const options: ObtainOptions = { log: (line) => process.stderr.write(`${line}\n`) };
const single = async (part: string, obtaining: Promise<Program | Unavailable>): Promise<Row[]> => [
  { part, ...(await obtaining) },
];

const obtainable: Readonly<Record<string, () => Promise<Row[]>>> = {
  nats: () => single('nats-server', obtainNatsServer(options)),
  'nats-command': () => single('nats', obtainNatsCommand(options)),
  kubectl: () => single('kubectl', obtainKubectl(options)),
  helm: () => single('helm', obtainHelm(options)),
  moto: () => single('moto', obtainMoto(options)),
  linters: () => single('cfn-lint', obtainStackLinters(options)),
  'python-subscriber': () => single('nats-py', obtainPythonSubscriber(options)),
  karpenter: () => single('karpenter', obtainKarpenter(options)),
  'control-plane': controlPlaneRows,
};

async function controlPlaneRows(): Promise<Row[]> {
  const obtained = await obtainControlPlane(options);
  if (isUnavailable(obtained)) return [{ part: 'control-plane', ...obtained }];
  const { paths, kubernetesVersion, etcdVersion } = obtained;
  return [
    { part: 'etcd', path: paths.etcd, version: etcdVersion },
    { part: 'kube-apiserver', path: paths.apiserver, version: kubernetesVersion },
    { part: 'kube-controller-manager', path: paths.controllerManager, version: kubernetesVersion },
    { part: 'kube-scheduler', path: paths.scheduler, version: kubernetesVersion },
  ];
}

function printed(rows: readonly Row[]): string {
  const width = Math.max(...rows.map((row) => row.part.length));
  const line = (row: Row): string => {
    const name = row.part.padEnd(width);
    if (isUnavailable(row))
      return `${name}  missing  ${row.unavailable.replaceAll('\n', `\n${' '.repeat(width + 11)}`)}`;
    return `${name}  real     ${row.version.padEnd(8)}  ${row.path}`;
  };
  return `${rows.map(line).join('\n')}\n`;
}

/** Obtains the parts that the command line names (default: all) and prints the result. */
async function main(words: readonly string[]): Promise<void> {
  const names = words.length === 0 || words.includes('all') ? Object.keys(obtainable) : words;
  const rows: Row[] = [];
  for (const name of names) {
    const obtain = lookUp(obtainable, name);
    if (obtain === undefined) {
      process.stderr.write(
        `no part is called ${name}; there are: ${Object.keys(obtainable).join(', ')}, all\n`,
      );
      process.exitCode = 2;
      return;
    }
    rows.push(...(await obtain()));
  }
  process.stdout.write(printed(rows));
  if (rows.some(isUnavailable)) process.exitCode = 1;
}

await main(process.argv.slice(2));
