/** Stories that end in trouble if a mistake is made that drawn ones seldom bring to light. */
export const shortStories: Readonly<Record<string, readonly string[]>> = {
  'all nodes of a pool are as old': [
    'class default',
    'pool steady capacity=on-demand types=m5.large expire=10m',
    'start services',
    'run 30s',
    'scale web 8 cpu=1.5',
    'run 15m',
  ],
  'a launcher dies with an order, and its successor finds other prices': [
    'settings consolidation=all spot-to-spot=no prices=1m',
    'class default',
    'pool steady capacity=on-demand consolidate=30s types=m5.large,m5.xlarge,m5.2xlarge',
    'pool spot capacity=spot consolidate=30s types=m5.large,m5.xlarge,m5.2xlarge',
    // On-demand is cheaper at first. Later on, a Spot node of any size is.
    'all spot costs 9x',
    'start services',
    'run 90s',
    'scale web 3 cpu=1',
    'run 2m',
    'all spot costs 1x',
    'kill launcher after create nodeclaims',
    'scale web 1',
    'run 100s',
    // The only type that is left now costs more than the node that it would replace.
    'all spot costs 2.2x',
    ...['m5.large', 'm5.xlarge'].flatMap((type) =>
      ['us-west-2a', 'us-west-2b'].map((zone) => `ec2 ${type}@${zone} has no capacity`),
    ),
    'run 2m',
    'start launcher as launcher-2',
    'run 10m',
  ],
};
