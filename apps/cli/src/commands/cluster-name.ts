import { InvalidArgumentError } from 'commander';

/** A cluster's name by EKS' rule, which every service's CLUSTER_NAME follows. */
export function clusterName(text: string): string {
  if (!/^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$/.test(text))
    throw new InvalidArgumentError(
      'write up to 100 letters, digits, - and _, beginning with a letter or digit.',
    );
  return text;
}
