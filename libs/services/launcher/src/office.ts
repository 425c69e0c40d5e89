import { kubeWhileLeading, type Office, whileLeading } from '@dovetail/service-kit';

import type { LauncherDeps } from './deps.js';

type Kube = LauncherDeps['kube'];
type Cloud = LauncherDeps['cloud'];

const kubeOf = (office: Office, kube: Kube): Kube => ({
  ...kubeWhileLeading(office, kube),
  bind: whileLeading(office, (pod, nodeName) => kube.bind(pod, nodeName)),
});

const cloudOf = (office: Office, cloud: Cloud): Cloud => ({
  instanceTypes: () => cloud.instanceTypes(),
  instanceTypeZones: () => cloud.instanceTypeZones(),
  onDemandPrices: () => cloud.onDemandPrices(),
  spotPrices: () => cloud.spotPrices(),
  subnets: (filters) => cloud.subnets(filters),
  securityGroups: (filters) => cloud.securityGroups(filters),
  images: (query) => cloud.images(query),
  parameter: (name) => cloud.parameter(name),
  clusterInfo: (clusterName) => cloud.clusterInfo(clusterName),
  launchTemplates: (tag) => cloud.launchTemplates(tag),
  instancesByTag: (filters) => cloud.instancesByTag(filters),
  instancesById: (ids) => cloud.instancesById(ids),
  instanceProfileExists: (name) => cloud.instanceProfileExists(name),
  instanceProfiles: (pathPrefix) => cloud.instanceProfiles(pathPrefix),
  ensureLaunchTemplate: whileLeading(office, (spec) => cloud.ensureLaunchTemplate(spec)),
  deleteLaunchTemplate: whileLeading(office, (name) => cloud.deleteLaunchTemplate(name)),
  createFleet: whileLeading(office, (request) => cloud.createFleet(request)),
  tagInstances: whileLeading(office, (ids, tags) => cloud.tagInstances(ids, tags)),
  ensureInstanceProfile: whileLeading(office, (profile) => cloud.ensureInstanceProfile(profile)),
  deleteInstanceProfile: whileLeading(office, (name) => cloud.deleteInstanceProfile(name)),
});

/**
 * The ports of one epoch. Between any two writes the Lease may be lost, as after a pause of the
 * process: then the successor decides, and no write of this epoch may follow.
 */
export function inOffice<D extends LauncherDeps>(deps: D, stop: Office['stop']): D {
  const office = { leadership: deps.leadership, stop };
  return { ...deps, kube: kubeOf(office, deps.kube), cloud: cloudOf(office, deps.cloud) };
}
