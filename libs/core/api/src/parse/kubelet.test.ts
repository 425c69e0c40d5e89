import { describe, expect, test } from 'vitest';

import { readKubelet, readOpenKubelet } from './kubelet.js';

test.each<[string, object, string]>([
  ['a negative number of pods', { maxPods: -1 }, 'kubelet.maxPods'],
  ['pods in a text', { podsPerCore: '4' }, 'kubelet.podsPerCore'],
  [
    'over a hundred percent',
    { imageGCHighThresholdPercent: 101 },
    'kubelet.imageGCHighThresholdPercent',
  ],
  ['an unknown reservation', { systemReserved: { gpu: '1' } }, 'kubelet.systemReserved.gpu'],
  ['a negative reservation', { kubeReserved: { cpu: '-1' } }, 'kubelet.kubeReserved.cpu'],
  ['an unknown signal', { evictionHard: { 'disk.full': '1' } }, 'kubelet.evictionHard.disk.full'],
  [
    'soft eviction without its grace',
    { evictionSoft: { 'memory.available': '5%' } },
    'kubelet.evictionSoft',
  ],
  [
    'a grace without its soft eviction',
    { evictionSoftGracePeriod: { 'memory.available': '1m' } },
    'kubelet.evictionSoft',
  ],
  [
    'thresholds that are equal',
    { imageGCHighThresholdPercent: 80, imageGCLowThresholdPercent: 80 },
    'kubelet.imageGCHighThresholdPercent',
  ],
  ['one DNS address as a text', { clusterDNS: '10.0.0.10' }, 'kubelet.clusterDNS'],
  ['a quota that is no flag', { cpuCFSQuota: 'on' }, 'kubelet.cpuCFSQuota'],
  ['a field that a Provisioner lacks', { featureGates: {} }, 'kubelet.featureGates'],
  ['a runtime that is no text', { containerRuntime: 1 }, 'kubelet.containerRuntime'],
])('settings with %s are refused by field', (_name, settings, field) =>
  expect(() => readKubelet(settings, 'kubelet')).toThrow(`${field}: `),
);

test.each<[string, object, string]>([
  ['the taints of nodes', { registerWithTaints: [] }, 'kubelet.registerWithTaints'],
  ['a misspelt field', { containerLogMaxSiz: '50Mi' }, 'kubelet.containerLogMaxSiz'],
  ['a field of another kind', { containerLogMaxSize: 50 }, 'kubelet.containerLogMaxSize'],
  ['gates in a list', { featureGates: ['A=true'] }, 'kubelet.featureGates'],
])('settings of a class with %s are refused by field', (_name, settings, field) =>
  expect(() => readOpenKubelet(settings, 'kubelet')).toThrow(`${field}: `),
);

describe('settings', () => {
  test('that are absent are none', () => expect(readKubelet(undefined, 'kubelet')).toEqual({}));

  test('keep numbers among quantities as their text', () =>
    expect(readKubelet({ kubeReserved: { cpu: 1, memory: '500Mi' } }, 'kubelet')).toEqual({
      kubeReserved: { cpu: '1', memory: '500Mi' },
    }));

  test('of a class may be any of the kubelet, and a null among them is none', () =>
    expect(
      readOpenKubelet(
        { featureGates: { A: true }, maxPods: 20, containerLogMaxSize: '50Mi', runOnce: null },
        'kubelet',
      ),
    ).toEqual({ maxPods: 20, others: { featureGates: { A: true }, containerLogMaxSize: '50Mi' } }));

  test('are read whole', () => {
    const settings = {
      clusterDNS: ['10.0.0.10'],
      maxPods: 20,
      podsPerCore: 2,
      systemReserved: { cpu: '100m' },
      kubeReserved: { memory: '1Gi', 'ephemeral-storage': '2Gi', pid: '100' },
      evictionHard: { 'memory.available': '5%' },
      evictionSoft: { 'nodefs.available': '10%' },
      evictionSoftGracePeriod: { 'nodefs.available': '2m' },
      evictionMaxPodGracePeriod: 60,
      imageGCHighThresholdPercent: 85,
      imageGCLowThresholdPercent: 80,
      cpuCFSQuota: false,
    };
    expect(readKubelet(settings, 'kubelet')).toEqual(settings);
  });
});
