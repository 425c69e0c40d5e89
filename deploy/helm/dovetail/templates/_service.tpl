{{/*
  One service: its account, Deployment, disruption budget, network policy and metrics. Called with root, component
  (pod-watcher, solver, …) and values (its block).
*/}}
{{- define "dovetail.service" -}}
{{- $_ := set . "block" (include "dovetail.block" . | fromJson) -}}
{{- include "dovetail.checkEnv" . -}}
{{- include "dovetail.checkHeap" . -}}
{{- include "dovetail.checkPorts" .root -}}
{{- include "dovetail.checkDns" . -}}
{{- include "dovetail.checkAccounts" .root -}}
{{- include "dovetail.checkBus" . -}}
{{- $scaled := ne (dig "autoscaling" "kind" "none" .values) "none" -}}
{{- if .values.serviceAccount.create -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "dovetail.accountName" . }}
  namespace: {{ .root.Release.Namespace }}
  {{- include "dovetail.metadata" (merge (dict "annotations" (include "dovetail.accountAnnotations" . | fromYaml)) .) | nindent 2 }}
# Each pod says itself whether it mounts the token; those of the solver, the console and the sinks do not.
automountServiceAccountToken: false
---
{{ end -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "dovetail.serviceName" . }}
  namespace: {{ .root.Release.Namespace }}
  {{- include "dovetail.metadata" . | nindent 2 }}
spec:
  {{- if not (or $scaled (kindIs "invalid" .values.replicas)) }}
  replicas: {{ int .values.replicas }}
  {{- end }}
  revisionHistoryLimit: {{ int .block.revisionHistoryLimit }}
  {{- with .block.strategy }}
  {{- /* The API takes no rollingUpdate beside Recreate, and rollingUpdate has a default. */}}
  strategy: {{- toYaml (eq (.type | default "") "Recreate" | ternary (omit . "rollingUpdate") .) | nindent 4 }}
  {{- end }}
  selector:
    matchLabels: {{- include "dovetail.selector" . | nindent 6 }}
  template:
    metadata:
      labels: {{- toYaml (merge (include "dovetail.selector" . | fromYaml) .block.podLabels .root.Values.additionalLabels) | nindent 8 }}
      {{- with .block.podAnnotations }}
      annotations: {{- toYaml . | nindent 8 }}
      {{- end }}
    spec: {{- include "dovetail.podSpec" . | nindent 6 }}
{{- if .block.podDisruptionBudget.enabled }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "dovetail.serviceName" . }}
  namespace: {{ .root.Release.Namespace }}
  {{- include "dovetail.metadata" . | nindent 2 }}
spec:
  {{- /* The API takes one of the two, and maxUnavailable has a default. */}}
  {{- toYaml (omit .block.podDisruptionBudget "enabled" (hasKey .block.podDisruptionBudget "minAvailable" | ternary "maxUnavailable" "enabled")) | nindent 2 }}
  selector:
    matchLabels: {{- include "dovetail.selector" . | nindent 6 }}
{{- end }}
{{- if .root.Values.networkPolicy.enabled }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "dovetail.serviceName" . }}
  namespace: {{ .root.Release.Namespace }}
  {{- include "dovetail.metadata" . | nindent 2 }}
spec:
  podSelector:
    matchLabels: {{- include "dovetail.selector" . | nindent 6 }}
  # Metrics; but for the console's page nothing else listens. Probes come from the node, which no policy keeps away.
  ingress:
    - ports: [{ port: http, protocol: TCP }]
      from:
        - podSelector: {}
        {{- with .root.Values.metrics.allowFrom }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    {{- if and (eq .component "console") .values.allowFrom }}
    - ports: [{ port: page, protocol: TCP }]
      from: {{- toYaml .values.allowFrom | nindent 8 }}
    {{- end }}
  {{- if or (has .component (list "solver" "console")) (and (eq .component "sinks") .values.allowTo) }}
  # It talks to NATS alone, and sends traces; the sinks talk to their receivers.
  policyTypes: [Ingress, Egress]
  egress:
    {{- if eq .component "sinks" }}
    - to: {{- toYaml .values.allowTo | nindent 8 }}
    {{- end }}
    {{- include "dovetail.natsEgress" .root | nindent 4 }}
    {{- if and (eq .component "solver") .root.Values.otel.endpoint }}
    - ports: [{ port: {{ include "dovetail.otelPort" .root }}, protocol: TCP }]
    {{- end }}
  {{- else }}
  policyTypes: [Ingress]
  {{- end }}
{{- end }}
{{- include "dovetail.metrics" . }}
{{- end -}}
