export { anotherProviderOf, isFromOurClass } from './another-provider.js';
export * from './claim.js';
export * from './claim-object.js';
export * from './claim-price.js';
export * from './command-record.js';
export * from './content-hash.js';
export { isWindowOpen, parseCron } from './cron.js';
export * from './hash-annotations.js';
export * from './karpenter-hash.js';
export * from './label-rules.js';
export { sizesOf } from './legacy-sizes.js';
export * from './names.js';
export * from './node-class.js';
export { nodeClaimOf } from './parse/claim.js';
export { commandRecordOf } from './parse/command-record.js';
export { ec2NodeClassOf } from './parse/ec2-node-class.js';
export {
  awsNodeTemplateOf,
  hasAl2Images,
  inlineProviderOf,
  type KubernetesVersion,
  ubuntuTerms,
} from './parse/legacy-class.js';
export { nodePoolOf } from './parse/node-pool.js';
export { provisionerOf } from './parse/provisioner.js';
export * from './pool.js';
export * from './price-cap.js';
export * from './promise.js';
