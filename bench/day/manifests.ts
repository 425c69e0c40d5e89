import type { DayApp } from './trace.js';

const spreadOf = (name: string): string => `
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: { matchLabels: { app: ${name} } }`;

const budgetOf = (name: string): string => `
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: { name: ${name}, namespace: default }
spec:
  maxUnavailable: 20%
  selector: { matchLabels: { app: ${name} } }
`;

/** The deployment of an app, with its PodDisruptionBudget. */
export const appManifest = (app: DayApp, replicas: number): string => `
apiVersion: apps/v1
kind: Deployment
metadata: { name: ${app.name}, namespace: default }
spec:
  replicas: ${replicas}
  selector: { matchLabels: { app: ${app.name} } }
  template:
    metadata: { labels: { app: ${app.name} } }
    spec:
      terminationGracePeriodSeconds: 2${app.spread ? spreadOf(app.name) : ''}
      containers:
        - name: app
          image: public.ecr.aws/eks-distro/kubernetes/pause:3.9
          resources: { requests: { cpu: ${app.cpuMillis}m, memory: ${app.memoryMib}Mi } }
${app.guarded ? budgetOf(app.name) : ''}`;
