import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { kubeRights } from './services.js';
import { play } from './story-stage.js';
import { parseTranscript, renderTranscript } from './transcript.js';

const folder = join(import.meta.dirname, '..');
const rewrite = process.env['STORIES_REWRITE'] !== undefined;
const stories = readdirSync(folder).filter((file) => file.endsWith('.txt'));

const used = new Set<string>();

/**
 * Rights of the chart that no story needs, each with the file and the call that need it. A star
 * stands for list and watch.
 */
const rare: readonly (readonly [right: string, file: string, call: string])[] = [
  ['pod-watcher: * runtimeclasses.node.k8s.io', 'pod-watcher/src/intake.ts', 'runtimeClasses'],
  ['launcher: * runtimeclasses.node.k8s.io', 'launcher/src/cluster/watches.ts', 'runtimeClasses'],
  [
    'launcher: get nodes',
    'launcher/src/cluster/cluster-writer.ts',
    'kube.get({ resource: kubeResources.nodes, name }',
  ],
  [
    'launcher: get nodeclaims.karpenter.sh',
    'launcher/src/cluster/cluster-writer.ts',
    'kube.get({ resource: kubeResources.nodeClaims, name }',
  ],
  ...(['provisioners.karpenter.sh', 'awsnodetemplates.karpenter.k8s.aws'] as const).flatMap(
    (kind) =>
      ['get', 'patch'].map(
        (verb) =>
          [
            `launcher: ${verb} ${kind}${verb === 'patch' ? '/status' : ''}`,
            'launcher/src/discovery/class-object.ts',
            kind.startsWith('p') ? 'kubeResources.provisioners' : 'kubeResources.awsNodeTemplates',
          ] as const,
      ),
  ),
  ...['nodepools', 'provisioners'].map(
    (kind) =>
      [
        `reaper: get ${kind}.karpenter.sh`,
        'reaper/src/end/follow-deletion.ts',
        'kube.get({ resource, name: pool.name })',
      ] as const,
  ),
  [
    'reaper: get persistentvolumeclaims',
    'reaper/src/end/facts.ts',
    'kube.get({ resource, namespace, name: claimName })',
  ],
  [
    'reaper: delete disruptions.dovetail.sh',
    'reaper/src/outside/command-records.ts',
    'kube.delete({ resource, name }',
  ],
];

describe('a story', () => {
  test.each(stories)('%s happens as it is written', async (file) => {
    const path = join(folder, file);
    const written = readFileSync(path, 'utf8');
    const happened = renderTranscript(
      await play(parseTranscript(written), (service, right) => used.add(`${service}: ${right}`)),
    );
    // A reviewer reads the difference. `npm run rewrite -w @dovetail/stories` writes the present
    // output.
    if (rewrite) writeFileSync(path, happened);
    else expect(happened).toBe(written);
  });
});

describe('the rights in Kubernetes that the chart gives', () => {
  test('are all that the stories need, and each of them is needed by a story or a call named here', () => {
    const granted = [...kubeRights].flatMap(([service, rights]) =>
      [...rights].map((right) => `${service}: ${right}`),
    );
    const named = rare.flatMap(([right]) =>
      right.includes('*') ? ['list', 'watch'].map((verb) => right.replace('*', verb)) : [right],
    );
    expect(granted.filter((right) => !used.has(right)).toSorted()).toEqual(named.toSorted());
  });
  test.each(rare)('%s is for a call in %s', (_right, file, call) =>
    expect(readFileSync(join(folder, '../../libs/services', file), 'utf8')).toContain(call),
  );
});
