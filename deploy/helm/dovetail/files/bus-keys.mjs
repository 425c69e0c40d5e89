// Gives each user of NATS a key, before the release is installed or upgraded. Keys that are in Secrets stay; one whose
// Secret is gone is made anew. The rights of the users are written each time, because an upgrade may change them.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [command, cluster, namespace, prefix, labels, ...roles] = process.argv.slice(1);
const account = '/var/run/secrets/kubernetes.io/serviceaccount';
const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env;

function ask(method, name, body) {
  const apply = body === undefined ? '' : '?fieldManager=dovetail-keys&force=true';
  const options = {
    host,
    port,
    method,
    path: `/api/v1/namespaces/${namespace}/secrets/${name}${apply}`,
    ca: readFileSync(`${account}/ca.crt`),
    headers: {
      authorization: `Bearer ${readFileSync(`${account}/token`, 'utf8')}`,
      // JSON is YAML, and older API servers know this type alone.
      ...(body === undefined ? {} : { 'content-type': 'application/apply-patch+yaml' }),
    },
  };
  return new Promise((resolve, reject) => {
    const call = request(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode, text }));
    });
    call.setTimeout(30_000, () => call.destroy(new Error('the API server does not answer')));
    call.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
  });
}

async function read(name) {
  const { status, text } = await ask('GET', name);
  if (status === 404) return {};
  if (status !== 200) throw new Error(`the Secret ${name} cannot be read: ${status} ${text}`);
  return JSON.parse(text).data ?? {};
}

async function write(name, key, path) {
  const { status, text } = await ask('PATCH', name, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, labels: JSON.parse(labels) },
    data: { [key]: readFileSync(path).toString('base64') },
  });
  if (status !== 200 && status !== 201)
    throw new Error(`the Secret ${name} cannot be written: ${status} ${text}`);
}

const folder = mkdtempSync(join(tmpdir(), 'keys-'));
const made = [];
for (const role of roles) {
  const { creds } = await read(`${prefix}-${role}`);
  if (creds === undefined) made.push(role);
  else writeFileSync(join(folder, `${role}.nk`), Buffer.from(creds, 'base64'), { mode: 0o600 });
}
execFileSync(process.execPath, [command, 'nats-users', '--cluster', cluster, '--out', folder]);
for (const role of made) await write(`${prefix}-${role}`, 'creds', join(folder, `${role}.nk`));
await write(`${prefix}-users`, 'users.conf', join(folder, 'users.conf'));
console.log(made.length === 0 ? 'every key was there' : `made keys for ${made.join(', ')}`);
