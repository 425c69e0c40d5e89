import { expect, test } from 'vitest';

import {
  forTests,
  httpRequest,
  isAlive,
  obtainControlPlane,
  type RunningControlPlane,
  startControlPlane,
  waitFor,
} from '../index.js';
import { leftOut, scratchDir } from '../testing/scratch.js';

const programs = await forTests(obtainControlPlane);
const dir = scratchDir();

type Answer = {
  readonly status: number;
  readonly object: {
    readonly spec?: { readonly nodeName?: string };
    readonly [key: string]: unknown;
  };
};

async function call(
  cluster: RunningControlPlane,
  method: string,
  path: string,
  object?: object,
): Promise<Answer> {
  const { ca, token } = cluster;
  const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const body = object === undefined ? {} : { body: JSON.stringify(object), contentType };
  const answer = await httpRequest(`${cluster.url}${path}`, {
    method,
    ca,
    token,
    ...body,
    deadlineMs: 10_000,
  });
  return { status: answer.status, object: JSON.parse(answer.body) };
}

const node = { metadata: { name: 'n1' } };
const nodeStatus = {
  status: {
    allocatable: { cpu: '4', memory: '8Gi', pods: '20' },
    capacity: { cpu: '4', memory: '8Gi', pods: '20' },
    conditions: [
      {
        type: 'Ready',
        status: 'True',
        reason: 'Test',
        message: '',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ],
  },
};
const deployment = {
  metadata: { name: 'web' },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        containers: [{ name: 'web', image: 'web', resources: { requests: { cpu: '100m' } } }],
      },
    },
  },
};

async function scheduledPods(cluster: RunningControlPlane, namespace: string): Promise<number> {
  const { object } = await call(cluster, 'GET', `/api/v1/namespaces/${namespace}/pods`);
  const items = object['items'] as readonly { readonly spec: { readonly nodeName?: string } }[];
  return items.filter((pod) => pod.spec.nodeName === 'n1').length;
}

test('a namespace is kept over a restart, a deployment gets its pods bound, and nothing is left running', async () => {
  if (leftOut('the real control plane', programs)) return;
  const cluster = await startControlPlane({ paths: programs.paths, dir, clusterName: 'test' });
  try {
    expect(
      (await call(cluster, 'POST', '/api/v1/namespaces', { metadata: { name: 'team1' } })).status,
    ).toBe(201);
    expect((await call(cluster, 'GET', '/api/v1/namespaces/team1')).status).toBe(200);

    await cluster.parts.apiserver.kill('SIGKILL');
    await cluster.parts.etcd.kill('SIGKILL');
    await cluster.parts.etcd.restart();
    await cluster.parts.apiserver.restart();
    expect((await call(cluster, 'GET', '/api/v1/namespaces/team1')).status).toBe(200);

    await call(cluster, 'POST', '/api/v1/nodes', node);
    await call(cluster, 'PATCH', '/api/v1/nodes/n1/status', nodeStatus);
    const created = await call(
      cluster,
      'POST',
      '/apis/apps/v1/namespaces/team1/deployments',
      deployment,
    );
    expect(created.status).toBe(201);
    const bound = async (): Promise<boolean> => (await scheduledPods(cluster, 'team1')) === 3;
    await waitFor(bound, { what: 'three pods to be bound', deadlineMs: 30_000 });
  } finally {
    await cluster.stop();
  }
  expect(Object.values(cluster.parts).filter(({ pid }) => isAlive(pid))).toEqual([]);
});

test('a service account has the rights its role gives it and no more', async () => {
  if (leftOut('rights on the real control plane', programs)) return;
  const cluster = await startControlPlane({
    paths: programs.paths,
    dir: `${dir}/rbac`,
    clusterName: 'test',
    serviceAccountAdmission: true,
  });
  try {
    const account = '/api/v1/namespaces/default/serviceaccounts/default';
    const exists = async (): Promise<boolean> =>
      (await call(cluster, 'GET', account)).status === 200;
    await waitFor(exists, { what: 'the default service account', deadlineMs: 30_000 });
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
    const { object } = await call(cluster, 'POST', `${account}/token`, request);
    const { token } = object['status'] as { readonly token: string };
    expect((await call({ ...cluster, token }, 'GET', '/api/v1/nodes')).status).toBe(403);
    expect((await call({ ...cluster, token: 'made-up' }, 'GET', '/api/v1/nodes')).status).toBe(401);
  } finally {
    await cluster.stop();
  }
});
