import { createHash } from 'node:crypto';

import type { AmiFamily, NodeClass } from '@dovetail/core-api';
import {
  type AmiAnswer,
  amiQueriesOf,
  chooseAmis,
  chooseForLaunch,
  fleetConfigs,
  instanceTags,
  type InstanceTypeFacts,
  instanceTypesFor,
  launchGroups,
  launchTemplateFor,
  type PriceBook,
  priceBookOf,
  securityGroupFilters,
  type Subnet,
  subnetFilters,
} from '@dovetail/core-ec2-model';
import { requirementsOf } from '@dovetail/core-kube-model';
import type { Cloud } from '@dovetail/core-ports';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createAwsCloud } from './cloud.js';
import { systemClock, twinAccount } from './testing/account.js';
import { userDataRenderer } from './user-data/render.js';

const hash = { sha256Hex: (text: string) => createHash('sha256').update(text).digest('hex') };
const cluster = { name: 'lab', uid: 'uid-1' };

/**
 * From a node class to machines that join, through the model, the adapter and AWS' protocols only.
 */
describe('a node class becomes nodes', () => {
  let account: Awaited<ReturnType<typeof twinAccount>>;
  let cloud: Cloud & { close(): void };
  let region: {
    readonly facts: readonly InstanceTypeFacts[];
    readonly zones: ReadonlyMap<string, readonly string[]>;
    readonly prices: PriceBook;
  };

  beforeAll(async () => {
    account = await twinAccount();
    cloud = createAwsCloud({ ...account.connection, clock: systemClock });
    const [facts, zones, onDemand, spot] = await Promise.all([
      cloud.instanceTypes(),
      cloud.instanceTypeZones(),
      cloud.onDemandPrices(),
      cloud.spotPrices(),
    ]);
    region = { facts, zones, prices: priceBookOf([...onDemand, ...spot]) };
  });
  afterAll(async () => {
    cloud.close();
    await account.stop();
  });

  const discovered = async (
    amiFamily: AmiFamily,
  ): Promise<{ readonly nodeClass: NodeClass; readonly subnets: readonly Subnet[] }> => {
    const terms = [{ tags: { 'karpenter.sh/discovery': 'lab' } }];
    const wanted = {
      amiFamily,
      amiSelectorTerms: [{ alias: `${amiFamily.toLowerCase()}@latest` }],
    };
    const queries = amiQueriesOf(wanted, '1.32');
    if (!queries.ok) throw new Error(queries.message);
    const answers = await Promise.all(
      queries.queries.map(async (query): Promise<AmiAnswer> => {
        const id = query.kind === 'parameter' ? await cloud.parameter(query.name) : undefined;
        return {
          query,
          images: id === undefined ? [] : await cloud.images({ ids: [id], filters: [] }),
        };
      }),
    );
    const subnets = (
      await Promise.all(subnetFilters(terms).map((filters) => cloud.subnets(filters)))
    ).flat();
    const securityGroups = (
      await Promise.all(securityGroupFilters(terms).map((filters) => cloud.securityGroups(filters)))
    ).flat();
    return {
      subnets,
      nodeClass: {
        ...wanted,
        ref: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        uid: 'c',
        resourceVersion: '1',
        generation: 1,
        ready: true,
        hash: '',
        subnetSelectorTerms: terms,
        securityGroupSelectorTerms: terms,
        tags: {},
        kubelet: { podsPerCore: 20 },
        blockDeviceMappings: [],
        detailedMonitoring: false,
        metadataOptions: {
          httpEndpoint: 'enabled',
          httpProtocolIpv6: 'disabled',
          httpPutResponseHopLimit: 1,
          httpTokens: 'required',
        },
        status: {
          subnets,
          securityGroups,
          amis: chooseAmis(answers),
          instanceProfile: 'KarpenterNodeInstanceProfile-lab',
        },
      },
    };
  };

  test.each(['AL2', 'AL2023', 'Bottlerocket'] as const)(
    '%s: two claims for a small spot node, launched together, join as planned',
    async (family) => {
      const { nodeClass, subnets } = await discovered(family);
      const { types } = instanceTypesFor(nodeClass, {
        ...region,
        region: 'us-east-1',
        isUnavailable: () => false,
      });
      const requests = { cpu: 1500, memory: 2 * 1024 ** 3, pods: 12 };
      const choice = chooseForLaunch(types, {
        requests,
        requirements: requirementsOf([
          { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot'] },
        ]),
      });
      if (!choice.ok) throw new Error(choice.message);

      const info = await cloud.clusterInfo('lab');
      if (info === undefined) throw new Error('no cluster');
      const templates = new Map<string, string>();
      for (const group of launchGroups(nodeClass, choice.types, requests)) {
        const rendered = userDataRenderer.render({
          family,
          kubelet: nodeClass.kubelet,
          maxPods: group.maxPods,
          labels: { 'karpenter.sh/nodepool': 'default' },
          taints: [],
          cluster: { ...info, name: 'lab' },
        });
        if (!rendered.ok) throw new Error(rendered.message);
        const spec = launchTemplateFor(
          {
            nodeClass,
            group,
            userDataBase64: rendered.base64,
            instanceProfileName: nodeClass.status.instanceProfile ?? '',
            cluster,
            capacityType: choice.capacityType,
            tenancy: 'default',
          },
          hash,
        );
        await cloud.ensureLaunchTemplate(spec);
        for (const type of group.instanceTypes) templates.set(type, spec.name);
      }
      const outcome = await cloud.createFleet({
        clientToken: `whole-${family}`,
        capacityType: choice.capacityType,
        count: 2,
        allocation: 'price-capacity-optimized',
        configs: fleetConfigs({ types: choice.types, subnets, templates }),
        tags: instanceTags(nodeClass, { kind: 'NodePool', name: 'default' }, cluster),
      });
      expect(outcome.errors).toEqual([]);
      expect(outcome.instances).toHaveLength(2);
      account.settle();
      for (const { id, instanceType } of outcome.instances) {
        const planned = choice.types.find((type) => type.name === instanceType);
        expect(account.twin.machine(id)).toMatchObject({
          boot: {
            joins: true,
            config: {
              family,
              clusterName: 'lab',
              podsMax: planned?.capacity['pods'],
              labels: { 'karpenter.sh/nodepool': 'default' },
            },
          },
        });
      }
      const found = await cloud.instancesByTag([
        { name: 'tag:dovetail.sh/cluster-uid', values: ['uid-1'] },
        { name: 'instance-id', values: outcome.instances.map((one) => one.id) },
      ]);
      expect(
        found.map((one) => [
          one.capacityType,
          one.tags['karpenter.sh/nodepool'],
          one.securityGroupIds.length,
        ]),
      ).toEqual([
        ['spot', 'default', 1],
        ['spot', 'default', 1],
      ]);
    },
  );
});
