{{/* A service's block over the common one, as JSON: entries of a map are added, anything else is replaced. */}}
{{- define "dovetail.block" -}}
{{- $block := deepCopy .root.Values.common -}}
{{- range $key, $value := .values -}}
{{- $shared := get $block $key -}}
{{- if and (kindIs "map" $value) (kindIs "map" $shared) -}}
{{- range $name, $each := $value -}}{{- $_ := set $shared $name $each -}}{{- end -}}
{{- else if not (kindIs "invalid" $value) -}}
{{- $_ := set $block $key $value -}}
{{- end -}}
{{- end -}}
{{- toJson $block -}}
{{- end -}}

{{/* Refuses a heap that does not fit into the limit of memory: the kernel would end the service in the middle of its work. */}}
{{- define "dovetail.checkHeap" -}}
{{- $limit := dig "limits" "memory" "" (.block.resources | default dict) | toString -}}
{{- if regexMatch "^[0-9]+(Mi|Gi)$" $limit -}}
{{- $unit := ternary 1024 1 (hasSuffix "Gi" $limit) -}}
{{- $needed := add (int .block.heapMiB) 100 -}}
{{- if lt (mul $unit (regexFind "^[0-9]+" $limit | int)) $needed -}}
{{- fail (printf "resources.limits.memory of %s is %s, but heapMiB is %d: the process needs %dMi; change both together" .component $limit (int .block.heapMiB) $needed) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Refuses two services of one port in the network of the host: the second would not start on the node of the first. */}}
{{- define "dovetail.checkPorts" -}}
{{- $root := . -}}
{{- $taken := dict -}}
{{- range $name, $values := .Values.services -}}
{{- $block := include "dovetail.block" (dict "root" $root "values" $values) | fromJson -}}
{{- if $block.hostNetwork -}}
{{- $port := int $block.port | toString -}}
{{- if hasKey $taken $port -}}
{{- fail (printf "services.%s and services.%s both use the host's port %s: set `port` of one of them" (get $taken $port) $name $port) -}}
{{- end -}}
{{- $_ := set $taken $port $name -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
  Refuses pods that ask the DNS of the node for a NATS of the cluster, whose name only the cluster's DNS knows. In the
  network of the host, ClusterFirst is Default. Called with root, component and block.
*/}}
{{- define "dovetail.checkDns" -}}
{{- $url := include "dovetail.natsUrl" .root -}}
{{- $policy := .block.dnsPolicy | default "" -}}
{{- $asksNode := or (eq $policy "Default") (and (eq $policy "ClusterFirst") .block.hostNetwork) -}}
{{- if and $asksNode (regexMatch "\\.svc([.:,/]|$)" $url) -}}
{{- fail (printf "dnsPolicy of %s is %s%s, so that it asks the DNS of its node, which does not know the NATS of the cluster, %s: leave common.dnsPolicy empty, or set nats.url to an address that nodes know" .component $policy (ternary " in the network of the host" "" (eq $policy "ClusterFirst")) $url) -}}
{{- end -}}
{{- end -}}

{{/* Refuses two accounts of one name: Helm 3 would fail on the second, and with Helm 4 the last one's annotations would hold. */}}
{{- define "dovetail.checkAccounts" -}}
{{- $root := . -}}
{{- $all := dict "console" .Values.console "sinks" .Values.sinks -}}
{{- range $name, $values := .Values.services }}{{- $_ := set $all (printf "services.%s" $name) $values -}}{{- end -}}
{{- $taken := dict -}}
{{- range $name := keys $all | sortAlpha -}}
{{- $values := get $all $name -}}
{{- if and (dig "serviceAccount" "create" false $values) (dig "enabled" true $values) -}}
{{- $account := include "dovetail.accountName" (dict "root" $root "component" (trimPrefix "services." $name | kebabcase) "values" $values) -}}
{{- if hasKey $taken $account -}}
{{- fail (printf "%s and %s both create the ServiceAccount %s: let one of them create it, and set serviceAccount.create=false of the other; but each then has the rights of both" (get $taken $account) $name $account) -}}
{{- end -}}
{{- $_ := set $taken $account $name -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The services whose pods are in the network of the host, by the names of their values; empty: none. */}}
{{- define "dovetail.inHostNetwork" -}}
{{- $root := . -}}
{{- $all := dict -}}
{{- $hosts := list -}}
{{- range $name, $values := .Values.services }}{{- $_ := set $all (printf "services.%s" $name) $values -}}{{- end -}}
{{- range $name := list "console" "sinks" -}}
{{- if (get $root.Values $name).enabled }}{{- $_ := set $all $name (get $root.Values $name) -}}{{- end -}}
{{- end -}}
{{- range $name := keys $all | sortAlpha -}}
{{- if (include "dovetail.block" (dict "root" $root "values" (get $all $name)) | fromJson).hostNetwork }}{{- $hosts = append $hosts $name -}}{{- end -}}
{{- end -}}
{{- join ", " $hosts -}}
{{- end -}}

{{/* Where pods of a service may stand: what was given, and one pod on a node. */}}
{{- define "dovetail.affinity" -}}
{{- $affinity := deepCopy (.block.affinity | default dict) -}}
{{- if and (not $affinity.podAntiAffinity) (ne .block.hostnameAntiAffinity "none") -}}
{{- $term := dict "topologyKey" "kubernetes.io/hostname" "labelSelector" (dict "matchLabels" (include "dovetail.selector" . | fromYaml)) -}}
{{- if eq .block.hostnameAntiAffinity "required" -}}
{{- $_ := set $affinity "podAntiAffinity" (dict "requiredDuringSchedulingIgnoredDuringExecution" (list $term)) -}}
{{- else -}}
{{- $preferred := list (dict "weight" 100 "podAffinityTerm" $term) -}}
{{- $_ := set $affinity "podAntiAffinity" (dict "preferredDuringSchedulingIgnoredDuringExecution" $preferred) -}}
{{- end -}}
{{- end -}}
{{- toYaml $affinity -}}
{{- end -}}

{{/* Constraints of spread; one that selects nothing counts the pods of its service. */}}
{{- define "dovetail.spread" -}}
{{- $selector := dict "matchLabels" (include "dovetail.selector" . | fromYaml) -}}
{{- range .block.topologySpreadConstraints }}
- {{ toYaml (merge (dict) . (dict "labelSelector" $selector)) | nindent 2 | trim }}
{{- end }}
{{- end -}}

{{/* The parts that every pod of this chart has, the Jobs' too. Called with root, component and block. */}}
{{- define "dovetail.placement" -}}
{{- with .block.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .block.schedulerName }}
schedulerName: {{ . }}
{{- end }}
{{- with .block.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .block.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- if .block.hostNetwork }}
hostNetwork: true
{{- end }}
{{- with .block.dnsPolicy | default (ternary "ClusterFirstWithHostNet" "" (.block.hostNetwork | default false)) }}
dnsPolicy: {{ . }}
{{- end }}
{{- with .block.dnsConfig }}
dnsConfig: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .block.podSecurityContext }}
securityContext: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The pod of a service. Called with root, component, values and block. */}}
{{- define "dovetail.podSpec" -}}
{{- $credentials := include "dovetail.busCredentials" . -}}
{{- $ca := include "dovetail.busCaSecret" .root -}}
{{- $tls := .root.Values.nats.tls -}}
serviceAccountName: {{ include "dovetail.accountName" . }}
automountServiceAccountToken: {{ not (has .component (list "solver" "console" "sinks")) }}
terminationGracePeriodSeconds: {{ int .block.terminationGracePeriodSeconds }}
{{ include "dovetail.placement" . | trim }}
{{- with include "dovetail.affinity" . | fromYaml }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with include "dovetail.spread" . | trim }}
topologySpreadConstraints: {{- . | nindent 2 }}
{{- end }}
{{- with .block.initContainers }}
initContainers: {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: {{ .component }}
    image: {{ include "dovetail.image" .root | quote }}
    imagePullPolicy: {{ .root.Values.image.pullPolicy }}
    args: ["--max-old-space-size={{ int .block.heapMiB }}", "/app/{{ .component }}.js"]
    {{- with .block.securityContext }}
    securityContext: {{- toYaml . | nindent 6 }}
    {{- end }}
    ports:
      - { name: http, containerPort: {{ int .block.port }} }
      {{- if eq .component "console" }}
      - { name: page, containerPort: {{ int .block.pagePort }} }
      {{- end }}
    {{- range $probe, $path := dict "startupProbe" "/healthz" "livenessProbe" "/healthz" "readinessProbe" "/readyz" }}
    {{ $probe }}: {{- toYaml (merge (dict "httpGet" (dict "path" $path "port" "http")) (get $.block $probe)) | nindent 6 }}
    {{- end }}
    env: {{- include "dovetail.env" (merge (dict "credentials" $credentials) .) | nindent 6 }}
    {{- with .block.envFrom }}
    envFrom: {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with .block.resources }}
    resources: {{- toYaml . | nindent 6 }}
    {{- end }}
    volumeMounts:
      - { name: logging, mountPath: /etc/dovetail-logging, readOnly: true }
      {{- if $credentials }}
      - { name: nats, mountPath: /etc/nats, readOnly: true }
      {{- end }}
      {{- if $ca }}
      - { name: nats-ca, mountPath: /etc/nats-ca, readOnly: true }
      {{- end }}
      {{- if $tls.clientSecret }}
      - { name: nats-client, mountPath: /etc/nats-client, readOnly: true }
      {{- end }}
      {{- if eq .component "sinks" }}
      - { name: sinks, mountPath: /etc/dovetail-sinks, readOnly: true }
      {{- end }}
      {{- with .block.extraVolumeMounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
  {{- with .block.sidecars }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
# Whole folders: the kubelet renews them in place. Each new connection reads its Secrets again, and the level of the log
# is read every few seconds.
volumes:
  - name: logging
    configMap: { name: {{ include "dovetail.loggingName" .root }}, optional: true }
  {{- if $credentials }}
  - name: nats
    secret: { secretName: {{ $credentials }} }
  {{- end }}
  {{- if $ca }}
  - name: nats-ca
    secret: { secretName: {{ $ca }}, items: [{ key: ca.crt, path: ca.crt }] }
  {{- end }}
  {{- if $tls.clientSecret }}
  - name: nats-client
    secret: { secretName: {{ $tls.clientSecret }} }
  {{- end }}
  {{- if eq .component "sinks" }}
  - name: sinks
    configMap: { name: {{ include "dovetail.serviceName" . }} }
  {{- end }}
  {{- with .block.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}
