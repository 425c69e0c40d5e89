{{/* Refuses to install a second release for the cluster: both would buy nodes for the same pods. Its Leases are in its namespace. */}}
{{- define "dovetail.checkAlone" -}}
{{- if and .Release.IsInstall (not .Values.besideOthers) -}}
{{- range (lookup "rbac.authorization.k8s.io/v1" "ClusterRole" "" "").items -}}
{{- $labels := .metadata.labels | default dict -}}
{{- $namespace := get (.metadata.annotations | default dict) "meta.helm.sh/release-namespace" -}}
{{- $isLauncher := and (eq (get $labels "app.kubernetes.io/part-of") "dovetail") (eq (get $labels "app.kubernetes.io/component") "launcher") -}}
{{- if and $isLauncher $namespace (ne $namespace $.Release.Namespace) -}}
{{- fail (printf "release %s in namespace %s runs Dovetail for this Kubernetes cluster already, and both would buy nodes for the same pods: uninstall it first, or set besideOthers=true if its launchers are scaled to none" (get .metadata.annotations "meta.helm.sh/release-name") $namespace) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Rights of one service: cluster-wide rules, and its Lease in its own namespace. Called with root, component, values and rules. */}}
{{- define "dovetail.rights" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ include "dovetail.clusterName" . }}
  {{- include "dovetail.metadata" . | nindent 2 }}
rules:
  {{- .rules | trim | nindent 2 }}
  {{- with .values.additionalClusterRoleRules }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ include "dovetail.clusterName" . }}
  {{- include "dovetail.metadata" . | nindent 2 }}
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {{ include "dovetail.clusterName" . }} }
subjects:
  - { kind: ServiceAccount, name: {{ include "dovetail.accountName" . }}, namespace: {{ .root.Release.Namespace }} }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ include "dovetail.serviceName" . }}
  namespace: {{ .root.Release.Namespace }}
  {{- include "dovetail.metadata" . | nindent 2 }}
rules:
  - { apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create] }
  - { apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [dovetail-{{ .component }}], verbs: [get, update] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ include "dovetail.serviceName" . }}
  namespace: {{ .root.Release.Namespace }}
  {{- include "dovetail.metadata" . | nindent 2 }}
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ include "dovetail.serviceName" . }} }
subjects:
  - { kind: ServiceAccount, name: {{ include "dovetail.accountName" . }}, namespace: {{ .root.Release.Namespace }} }
{{- end -}}

{{/* The kinds from which plans are made, with one list of verbs. Called with verbs. */}}
{{- define "dovetail.planningRules" -}}
- { apiGroups: [""], resources: [pods, persistentvolumes, persistentvolumeclaims, limitranges], verbs: [list, watch] }
- { apiGroups: [node.k8s.io], resources: [runtimeclasses], verbs: [list, watch] }
- { apiGroups: [apps], resources: [daemonsets], verbs: [list, watch] }
- { apiGroups: [storage.k8s.io], resources: [storageclasses, csinodes], verbs: [list, watch] }
- { apiGroups: [""], resources: [nodes, namespaces], verbs: {{ .verbs }} }
- { apiGroups: [karpenter.sh], resources: [nodepools, nodeclaims, provisioners], verbs: {{ .verbs }} }
- { apiGroups: [karpenter.k8s.aws], resources: [ec2nodeclasses, awsnodetemplates], verbs: {{ .verbs }} }
{{- end -}}
