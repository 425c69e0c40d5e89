import type { KubeObject } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import { AdmittedTemplates } from './admitted-templates.js';

const daemonSet = (name: string, namespace = 'team', more: object = {}): KubeObject => ({
  metadata: { name, namespace, uid: `ds-${name}` },
  spec: { template: { spec: { containers: [{ name: 'a' }], ...more } } },
});
const limits = (uid: string, cpu: string, namespace = 'team'): KubeObject => ({
  metadata: { name: uid, namespace, uid },
  spec: { limits: [{ type: 'Container', default: { cpu } }] },
});
const runtimeClass: KubeObject = {
  metadata: { name: 'vm', uid: 'vm' },
  overhead: { podFixed: { cpu: '250m' } },
};

type Template = {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly overhead?: object;
        readonly containers: readonly { readonly resources?: { readonly requests: object } }[];
      };
    };
  };
};
const specOf = (object: KubeObject | undefined) =>
  (object as unknown as Template | undefined)?.spec.template.spec;
const requestsOf = (object: KubeObject | undefined) =>
  specOf(object)?.containers[0]?.resources?.requests;

test('a daemonset stays as it is in a namespace without LimitRanges', () => {
  const templates = new AdmittedTemplates();
  templates.set('limitRange', limits('l', '1', 'other'));
  expect(templates.daemonSet(daemonSet('agent'))).toEqual(daemonSet('agent'));
});

test('a daemonset that comes after its LimitRange has its defaults', () => {
  const templates = new AdmittedTemplates();
  expect(templates.set('limitRange', limits('l', '1'))).toEqual([]);
  expect(requestsOf(templates.daemonSet(daemonSet('agent')))).toEqual({ cpu: '1' });
});

test('a LimitRange that comes, changes and goes has the daemonsets of its namespace read again', () => {
  const templates = new AdmittedTemplates();
  templates.daemonSet(daemonSet('agent'));
  templates.daemonSet(daemonSet('elsewhere', 'other'));
  expect(templates.set('limitRange', limits('l', '1')).map(requestsOf)).toEqual([{ cpu: '1' }]);
  expect(templates.set('limitRange', limits('l', '2')).map(requestsOf)).toEqual([{ cpu: '2' }]);
  expect(templates.gone('limitRange', 'l').map(requestsOf)).toEqual([undefined]);
  expect(templates.gone('limitRange', 'l')).toEqual([]);
});

test('a RuntimeClass adds its overhead to the daemonsets that name it, in every namespace', () => {
  const templates = new AdmittedTemplates();
  templates.daemonSet(daemonSet('agent', 'team', { runtimeClassName: 'vm' }));
  templates.daemonSet(daemonSet('other', 'other'));
  expect(templates.set('runtimeClass', runtimeClass).map((one) => specOf(one)?.overhead)).toEqual([
    { cpu: '250m' },
    undefined,
  ]);
});

test('a daemonset that is gone is not read again', () => {
  const templates = new AdmittedTemplates();
  templates.daemonSet(daemonSet('agent'));
  templates.daemonSetGone('ds-agent');
  expect(templates.set('limitRange', limits('l', '1'))).toEqual([]);
});
