{{- define "dovetail.labels" -}}
app.kubernetes.io/name: dovetail
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "dovetail.serviceName" -}}
{{ .root.Release.Name }}-{{ .component }}
{{- end -}}

{{/* Refuses further environment that the chart sets itself: the variable would be there twice. */}}
{{- define "dovetail.checkEnv" -}}
{{- $ours := dict "CLUSTER_NAME" "cluster.name" "NATS_URL" "nats.url" "NATS_REPLICAS" "nats.replicas"
  "NATS_CREDENTIALS" "nats.credentialsSecret" "NATS_CA" "nats.tls.caSecret" "NATS_CERT" "nats.tls.clientSecret"
  "NATS_KEY" "nats.tls.clientSecret" "AWS_REGION" "cluster.region" "LEASE_DURATION" "leaseDuration"
  "MIN_VALUES_POLICY" "minValuesPolicy" "HOSTNAME_SPREAD" "hostnameSpread" "PREFERENCE_POLICY" "preferencePolicy"
  "NODE_CHARGE" "nodeCharge" "FEWER_NODES_WITHIN" "fewerNodesWithin" "ASSUMED_REQUESTS" "assumedRequests"
  "PLACEMENT" "placement" "DEFAULT_INSTANCE_PROFILE" "defaultInstanceProfile" "INTERRUPTION_QUEUE" "interruptionQueue" -}}
{{- $fixed := list "HTTP_PORT" "REPLICA_NAME" "LEASE_NAMESPACE" "TEST_CLOCK_FILE" -}}
{{- $component := .component -}}
{{- range $name, $value := .values.env -}}
{{- if hasKey $ours $name -}}
{{- fail (printf "env of %s names %s: set the value %s of the chart instead" $component $name (get $ours $name)) -}}
{{- else if has $name $fixed -}}
{{- fail (printf "env of %s names %s: leave it out, the chart decides it" $component $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* One service: its account and its Deployment. Called with root, component (pod-watcher, solver, …) and values (its block). */}}
{{- define "dovetail.service" -}}
{{- include "dovetail.checkEnv" . -}}
{{- $credentials := .values.natsCredentialsSecret | default .root.Values.nats.credentialsSecret -}}
{{- $tls := .root.Values.nats.tls -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "dovetail.serviceName" . }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "dovetail.labels" . | nindent 4 }}
  {{- with .values.serviceAccountAnnotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: {{ ne .component "solver" }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "dovetail.serviceName" . }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "dovetail.labels" . | nindent 4 }}
spec:
  replicas: {{ .values.replicas }}
  revisionHistoryLimit: 5
  strategy:
    rollingUpdate: { maxUnavailable: 1 }
  selector:
    matchLabels: {{- include "dovetail.labels" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "dovetail.labels" . | nindent 8 }}
      {{- with .root.Values.common.podAnnotations }}
      annotations: {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ include "dovetail.serviceName" . }}
      automountServiceAccountToken: {{ ne .component "solver" }}
      priorityClassName: {{ .root.Values.common.priorityClassName }}
      nodeSelector: {{- toYaml .root.Values.common.nodeSelector | nindent 8 }}
      tolerations: {{- toYaml .root.Values.common.tolerations | nindent 8 }}
      affinity:
        nodeAffinity:
          # Never on nodes that Dovetail itself launches: it could not launch the first one, nor survive the last.
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
              - matchExpressions:
                  - { key: karpenter.sh/nodepool, operator: DoesNotExist }
                  - { key: karpenter.sh/provisioner-name, operator: DoesNotExist }
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
            - weight: 100
              podAffinityTerm:
                topologyKey: kubernetes.io/hostname
                labelSelector:
                  matchLabels: {{- include "dovetail.labels" . | nindent 20 }}
      {{- with .root.Values.imagePullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        seccompProfile: { type: RuntimeDefault }
      containers:
        - name: {{ .component }}
          {{- if .root.Values.image.digest }}
          image: "{{ .root.Values.image.repository }}@{{ .root.Values.image.digest }}"
          {{- else }}
          image: "{{ .root.Values.image.repository }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}"
          {{- end }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          args: ["--max-old-space-size={{ int .values.heapMiB }}", "/app/{{ .component }}.js"]
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: { drop: [ALL] }
          ports:
            - { name: http, containerPort: 8080 }
          livenessProbe:
            httpGet: { path: /healthz, port: http }
            initialDelaySeconds: 10
          readinessProbe:
            httpGet: { path: /readyz, port: http }
          env:
            - { name: CLUSTER_NAME, value: {{ .root.Values.cluster.name | quote }} }
            - { name: NATS_URL, value: {{ .root.Values.nats.url | quote }} }
            - { name: NATS_REPLICAS, value: {{ .root.Values.nats.replicas | quote }} }
            {{- if $credentials }}
            - { name: NATS_CREDENTIALS, value: /etc/nats/creds }
            {{- end }}
            {{- if $tls.caSecret }}
            - { name: NATS_CA, value: /etc/nats-ca/ca.crt }
            {{- end }}
            {{- if $tls.clientSecret }}
            - { name: NATS_CERT, value: /etc/nats-client/tls.crt }
            - { name: NATS_KEY, value: /etc/nats-client/tls.key }
            {{- end }}
            - { name: HTTP_PORT, value: "8080" }
            {{- if not (hasKey .values.env "HTTP_HOST") }}
            - { name: HTTP_HOST, value: "::" }
            {{- end }}
            {{- if not (hasKey .values.env "LOG_LEVEL") }}
            - { name: LOG_LEVEL, value: {{ .root.Values.logLevel | quote }} }
            {{- end }}
            - { name: REPLICA_NAME, valueFrom: { fieldRef: { fieldPath: metadata.name } } }
            {{- if ne .component "solver" }}
            - { name: LEASE_NAMESPACE, valueFrom: { fieldRef: { fieldPath: metadata.namespace } } }
            - { name: LEASE_DURATION, value: {{ .root.Values.leaseDuration | quote }} }
            {{- end }}
            {{- if or (eq .component "launcher") (eq .component "reaper") }}
            - { name: AWS_REGION, value: {{ .root.Values.cluster.region | quote }} }
            {{- end }}
            {{- if or (eq .component "solver") (eq .component "launcher") }}
            - { name: MIN_VALUES_POLICY, value: {{ .root.Values.minValuesPolicy | quote }} }
            - { name: HOSTNAME_SPREAD, value: {{ .root.Values.hostnameSpread | quote }} }
            {{- end }}
            {{- if eq .component "solver" }}
            - { name: PREFERENCE_POLICY, value: {{ .root.Values.preferencePolicy | quote }} }
            # Plain decimals: Helm would write a small number as 1e-05.
            - { name: NODE_CHARGE, value: {{ printf "%.6f" (float64 .root.Values.nodeCharge) | quote }} }
            - { name: FEWER_NODES_WITHIN, value: {{ printf "%.1f" (float64 .root.Values.fewerNodesWithin) | quote }} }
            - { name: ASSUMED_REQUESTS, value: {{ .root.Values.assumedRequests | quote }} }
            {{- end }}
            {{- if eq .component "launcher" }}
            - { name: PLACEMENT, value: {{ .root.Values.placement | quote }} }
            - { name: DEFAULT_INSTANCE_PROFILE, value: {{ .root.Values.defaultInstanceProfile | quote }} }
            {{- end }}
            {{- if eq .component "reaper" }}
            - { name: INTERRUPTION_QUEUE, value: {{ .root.Values.interruptionQueue | quote }} }
            {{- end }}
            {{- range $name, $value := .values.env }}
            - { name: {{ $name }}, value: {{ $value | quote }} }
            {{- end }}
          resources: {{- toYaml .values.resources | nindent 12 }}
          {{- if or $credentials $tls.caSecret $tls.clientSecret }}
          volumeMounts:
            {{- if $credentials }}
            - { name: nats, mountPath: /etc/nats, readOnly: true }
            {{- end }}
            {{- if $tls.caSecret }}
            - { name: nats-ca, mountPath: /etc/nats-ca, readOnly: true }
            {{- end }}
            {{- if $tls.clientSecret }}
            - { name: nats-client, mountPath: /etc/nats-client, readOnly: true }
            {{- end }}
          {{- end }}
      {{- if or $credentials $tls.caSecret $tls.clientSecret }}
      # Whole folders: the kubelet renews them in place, and each new connection reads them again.
      volumes:
        {{- if $credentials }}
        - name: nats
          secret: { secretName: {{ $credentials }} }
        {{- end }}
        {{- if $tls.caSecret }}
        - name: nats-ca
          secret: { secretName: {{ $tls.caSecret }}, items: [{ key: ca.crt, path: ca.crt }] }
        {{- end }}
        {{- if $tls.clientSecret }}
        - name: nats-client
          secret: { secretName: {{ $tls.clientSecret }} }
        {{- end }}
      {{- end }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "dovetail.serviceName" . }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "dovetail.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels: {{- include "dovetail.labels" . | nindent 6 }}
{{- if .root.Values.networkPolicy.enabled }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "dovetail.serviceName" . }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "dovetail.labels" . | nindent 4 }}
spec:
  podSelector:
    matchLabels: {{- include "dovetail.labels" . | nindent 6 }}
  # Probes and metrics; nothing else listens.
  ingress:
    - ports: [{ port: http, protocol: TCP }]
  {{- if eq .component "solver" }}
  # A solver talks to NATS alone.
  policyTypes: [Ingress, Egress]
  egress:
    - ports: [{ port: {{ int .root.Values.networkPolicy.natsPort }}, protocol: TCP }]
    - ports: [{ port: 53, protocol: UDP }, { port: 53, protocol: TCP }]
  {{- else }}
  policyTypes: [Ingress]
  {{- end }}
{{- end }}
{{- end -}}

{{/* Rights of one service: cluster-wide rules, and its Lease in its own namespace. */}}
{{- define "dovetail.rights" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ include "dovetail.serviceName" . }}
  labels: {{- include "dovetail.labels" . | nindent 4 }}
rules: {{- .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ include "dovetail.serviceName" . }}
  labels: {{- include "dovetail.labels" . | nindent 4 }}
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {{ include "dovetail.serviceName" . }} }
subjects:
  - { kind: ServiceAccount, name: {{ include "dovetail.serviceName" . }}, namespace: {{ .root.Release.Namespace }} }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ include "dovetail.serviceName" . }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "dovetail.labels" . | nindent 4 }}
rules:
  - { apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create] }
  - { apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [dovetail-{{ .component }}], verbs: [get, update] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ include "dovetail.serviceName" . }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "dovetail.labels" . | nindent 4 }}
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ include "dovetail.serviceName" . }} }
subjects:
  - { kind: ServiceAccount, name: {{ include "dovetail.serviceName" . }}, namespace: {{ .root.Release.Namespace }} }
{{- end -}}

{{/* What the planner and the checker read. */}}
{{- define "dovetail.readRules" -}}
- { apiGroups: [""], resources: [pods, nodes, namespaces, persistentvolumes, persistentvolumeclaims, services, limitranges], verbs: [get, list, watch] }
- { apiGroups: [node.k8s.io], resources: [runtimeclasses], verbs: [get, list, watch] }
- { apiGroups: [apps], resources: [daemonsets, replicasets], verbs: [get, list, watch] }
- { apiGroups: [policy], resources: [poddisruptionbudgets], verbs: [get, list, watch] }
- { apiGroups: [storage.k8s.io], resources: [storageclasses, csinodes, volumeattachments], verbs: [get, list, watch] }
- { apiGroups: [karpenter.sh], resources: [nodepools, nodeclaims, provisioners], verbs: [get, list, watch] }
- { apiGroups: [karpenter.k8s.aws], resources: [ec2nodeclasses, awsnodetemplates], verbs: [get, list, watch] }
{{- end -}}
