import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The files of a control plane, all in one folder, so that it can be restarted from it. */
export type ControlPlaneFiles = {
  readonly etcdData: string;
  readonly certificates: string;
  /**
   * The apiserver's self-signed certificate with its authority, which the apiserver writes at its
   * first start.
   */
  readonly ca: string;
  readonly serviceAccountKey: string;
  readonly tokens: string;
  readonly kubeconfig: string;
  /** The log of one process. */
  readonly log: (name: string) => string;
};

/** The paths of the files of a control plane in this folder. */
export const filesIn = (dir: string): ControlPlaneFiles => ({
  etcdData: join(dir, 'etcd'),
  certificates: join(dir, 'certificates'),
  ca: join(dir, 'certificates', 'apiserver.crt'),
  serviceAccountKey: join(dir, 'service-account.key'),
  tokens: join(dir, 'tokens.csv'),
  kubeconfig: join(dir, 'kubeconfig'),
  log: (name) => join(dir, `${name}.log`),
});

/**
 * Writes the files that the processes read, and keeps the keys of an earlier start. Returns the
 * administrator's token.
 */
export async function prepareFiles(files: ControlPlaneFiles): Promise<string> {
  await mkdir(files.certificates, { recursive: true });
  if (!existsSync(files.serviceAccountKey)) {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const pem = privateKey.export({ type: 'pkcs1', format: 'pem' });
    await writeFile(files.serviceAccountKey, pem, { mode: 0o600 });
  }
  if (!existsSync(files.tokens)) {
    const line = `${randomBytes(24).toString('hex')},admin,admin,"system:masters"\n`;
    await writeFile(files.tokens, line, { mode: 0o600 });
  }
  const [token = ''] = (await readFile(files.tokens, 'utf8')).split(',', 1);
  return token;
}

/** The data that a client needs to reach a cluster. */
export type ClusterAccess = {
  readonly clusterName: string;
  readonly url: string;
  readonly ca: string;
  readonly token: string;
};

/** The text of a kubeconfig for a bearer token. JSON, which is YAML too. */
export function kubeconfigText({ clusterName, url, ca, token }: ClusterAccess): string {
  const cluster = { server: url, 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: clusterName, cluster }],
    users: [{ name: 'admin', user: { token } }],
    contexts: [{ name: clusterName, context: { cluster: clusterName, user: 'admin' } }],
    'current-context': clusterName,
  };
  return `${JSON.stringify(kubeconfig, undefined, 2)}\n`;
}
