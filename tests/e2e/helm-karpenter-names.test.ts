import { helmFor, type Rendered, rendererOf, theOne } from '@dovetail/test-support/chart';
import { describe, expect, test } from 'vitest';

/** A real Helm takes the values of Karpenter's first charts under the names that they had there. */
const helm = await helmFor("the names of Karpenter's first chart");
const render = rendererOf(helm);

type Deployment = Rendered & {
  readonly spec: {
    readonly template: {
      readonly spec: { readonly containers: readonly { readonly env: readonly object[] }[] };
    };
  };
};

(helm === undefined ? describe.skip : describe)(
  "the four values of guides to Karpenter's first chart",
  () => {
    const role = 'arn:aws:iam::111122223333:role/karpenter';
    const founding = [
      `serviceAccount.annotations.eks\\.amazonaws\\.com/role-arn=${role}`,
      'cluster.name=',
      'clusterName=eks',
      'clusterEndpoint=https://1.gr7.us-west-2.eks.amazonaws.com',
      'aws.defaultInstanceProfile=KarpenterNodeInstanceProfile-eks',
    ];
    test('reach the services under their old names', async () => {
      const made = theOne<Deployment>(await render(...founding), 'Deployment', '-launcher');
      expect(made.spec.template.spec.containers[0]?.env).toEqual(
        expect.arrayContaining([
          { name: 'CLUSTER_NAME', value: 'eks' },
          { name: 'CLUSTER_ENDPOINT', value: 'https://1.gr7.us-west-2.eks.amazonaws.com' },
          { name: 'DEFAULT_INSTANCE_PROFILE', value: 'KarpenterNodeInstanceProfile-eks' },
        ]),
      );
    });
    test('give the role to the services that call AWS, and to no other', async () => {
      const accounts = (await render(...founding)).filter(({ kind }) => kind === 'ServiceAccount');
      const withRole = accounts.filter(
        ({ metadata }) => metadata.annotations?.['eks.amazonaws.com/role-arn'] === role,
      );
      expect(withRole.map(({ metadata }) => metadata.name)).toEqual([
        'dovetail-launcher',
        'dovetail-reaper',
      ]);
    });
    test("yield to a service's own annotations", async () => {
      const own = 'services.reaper.serviceAccountAnnotations.eks\\.amazonaws\\.com/role-arn=own';
      const objects = await render(...founding, own);
      expect(theOne(objects, 'ServiceAccount', '-reaper').metadata.annotations).toEqual({
        'eks.amazonaws.com/role-arn': 'own',
      });
    });
    test.each([
      ['clusterName=other', 'clusterName is other, and cluster.name is lab: they are one value'],
      ['clusterName=a.b', "'/clusterName': 'a.b' does not match pattern"],
      ['cluster.name=', "'/cluster/name': minLength: got 0, want 1"],
      ['aws.defaultInstanceProfil=x', "'/aws': additional properties 'defaultInstanceProfil'"],
    ])('%s is refused by its name', (value, message) =>
      expect(render(value)).rejects.toThrow(message),
    );
  },
);
