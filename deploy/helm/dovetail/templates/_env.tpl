{{/*
  Refuses further environment that the chart sets itself, because the variable would be there twice, and what the service would
  refuse or ignore: a name that is no setting of it (of any service, in `common`), and a value of another form.
  files/settings.json has what the services print of themselves.
*/}}
{{- define "dovetail.checkEnv" -}}
{{- $ours := dict "CLUSTER_NAME" "cluster.name" "NATS_URL" "nats.url" "NATS_REPLICAS" "nats.replicas"
  "NATS_CREDENTIALS" "nats.credentialsSecret" "NATS_CA" "nats.tls.caSecret" "NATS_CERT" "nats.tls.clientSecret"
  "NATS_KEY" "nats.tls.clientSecret" "AWS_REGION" "cluster.region" "LEASE_DURATION" "leaseDuration"
  "MIN_VALUES_POLICY" "minValuesPolicy" "HOSTNAME_SPREAD" "hostnameSpread" "PREFERENCE_POLICY" "preferencePolicy"
  "NODE_CHARGE" "nodeCharge" "FEWER_NODES_WITHIN" "fewerNodesWithin" "ASSUMED_REQUESTS" "assumedRequests"
  "PLACEMENT" "placement" "CONSOLIDATION" "consolidation" "CONSOLIDATION_MOVE_COST" "consolidationMoveCost"
  "DEFAULT_INSTANCE_PROFILE" "defaultInstanceProfile" "INTERRUPTION_QUEUE" "interruptionQueue"
  "BATCH_IDLE_DURATION" "settings.batchIdleDuration" "BATCH_MAX_DURATION" "settings.batchMaxDuration"
  "CLUSTER_ENDPOINT" "settings.clusterEndpoint" "CLUSTER_CA_BUNDLE" "settings.clusterCABundle"
  "CLUSTER_SERVICE_CIDR" "settings.clusterServiceCidr" "ISOLATED_VPC" "settings.isolatedVPC"
  "VM_MEMORY_OVERHEAD_PERCENT" "settings.vmMemoryOverheadPercent" "RESERVED_ENIS" "settings.reservedENIs"
  "DISABLE_CLUSTER_STATE_OBSERVABILITY" "settings.disableClusterStateObservability"
  "FEATURE_GATES" "settings.featureGates" "PAGE_PORT" "console.pagePort" "PAGE_HOSTS" "console.hosts"
  "OTEL_EXPORTER_OTLP_ENDPOINT" "otel.endpoint" "SINKS" "sinks.list" "SINKS_FILE" "sinks.list" -}}
{{- $fixed := list "HTTP_PORT" "LOG_LEVEL_FILE" "REPLICA_NAME" "LEASE_NAMESPACE" "TEST_CLOCK_FILE" -}}
{{- $component := .component -}}
{{- range $name, $value := .block.env -}}
{{- if hasKey $ours $name -}}
{{- fail (printf "env of %s names %s: set the value %s of the chart instead" $component $name (get $ours $name)) -}}
{{- else if has $name $fixed -}}
{{- fail (printf "env of %s names %s: leave it out, the chart decides it" $component $name) -}}
{{- end -}}
{{- end -}}
{{- $settings := .root.Files.Get "files/settings.json" | fromJson -}}
{{- $all := dict -}}
{{- range $settings -}}{{- $all = merge $all . -}}{{- end -}}
{{- $ofRuntime := "^(AWS_[A-Z0-9_]+|OTEL_[A-Z0-9_]+|NODE_(OPTIONS|EXTRA_CA_CERTS|DEBUG|TLS_REJECT_UNAUTHORIZED|USE_ENV_PROXY|USE_SYSTEM_CA)|SSL_CERT_(FILE|DIR)|TZ|UV_THREADPOOL_SIZE|(?i:https?_proxy|all_proxy|no_proxy))$" -}}
{{- range $place, $known := dict "common" $all (printf (ternary "%s" "services.%s" (has .component (list "console" "sinks"))) .component) (get $settings .component) -}}
{{- range $name, $value := ternary $.root.Values.common.env $.values.env (eq $place "common") -}}
{{- if not (or (hasKey $known $name) (regexMatch $ofRuntime $name)) -}}
{{- $reader := ternary "no service reads" (printf "%s does not read" $component) (eq $place "common") -}}
{{- fail (printf "%s.env has %s, which %s: docs/reference/settings.md lists the settings; a variable that something else reads goes into extraEnv" $place $name $reader) -}}
{{- end -}}
{{- $form := get $known $name | default dict -}}
{{- if and $form.pattern $value (kindIs "string" $value) -}}
{{- $fits := regexMatch $form.pattern $value -}}
{{- if and $fits (hasKey $form "most") -}}
{{- $fits = and (ge (int64 $value) (int64 $form.least)) (le (int64 $value) (int64 $form.most)) -}}
{{- end -}}
{{- if not $fits -}}
{{- fail (printf "%s.env has %s=%s, which no service takes: %s" $place $name $value $form.remedy) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $name, $value := .block.extraEnv -}}
{{- if or (hasKey $all $name) (hasKey $.block.env $name) -}}
{{- fail (printf "extraEnv of %s names %s, which Dovetail reads: write it into env" $component $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The environment of one service. Called with root, component, block and credentials. */}}
{{- define "dovetail.env" -}}
{{- $tls := .root.Values.nats.tls -}}
- { name: CLUSTER_NAME, value: {{ include "dovetail.clusterInAws" .root | quote }} }
- { name: NATS_URL, value: {{ include "dovetail.natsUrl" .root | quote }} }
- { name: NATS_REPLICAS, value: {{ ternary .root.Values.nats.server.replicas .root.Values.nats.replicas .root.Values.nats.server.enabled | quote }} }
{{- if .credentials }}
- { name: NATS_CREDENTIALS, value: /etc/nats/creds }
{{- end }}
{{- if include "dovetail.busCaSecret" .root }}
- { name: NATS_CA, value: /etc/nats-ca/ca.crt }
{{- end }}
{{- if $tls.clientSecret }}
- { name: NATS_CERT, value: /etc/nats-client/tls.crt }
- { name: NATS_KEY, value: /etc/nats-client/tls.key }
{{- end }}
- { name: HTTP_PORT, value: {{ int .block.port | quote }} }
{{- if not (hasKey .block.env "HTTP_HOST") }}
- { name: HTTP_HOST, value: "::" }
{{- end }}
{{- if not (hasKey .block.env "LOG_LEVEL") }}
- { name: LOG_LEVEL, value: {{ .root.Values.logLevel | quote }} }
{{- end }}
- { name: LOG_LEVEL_FILE, value: /etc/dovetail-logging/{{ .component }} }
- { name: REPLICA_NAME, valueFrom: { fieldRef: { fieldPath: metadata.name } } }
{{- if and .root.Values.otel.endpoint (not (has .component (list "console" "sinks"))) }}
- { name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ .root.Values.otel.endpoint | quote }} }
{{- end }}
{{- if eq .component "console" }}
- { name: PAGE_PORT, value: {{ int .block.pagePort | quote }} }
{{- $page := printf "%s-page" (include "dovetail.serviceName" .) }}
{{- $inside := printf "%s.%s" $page .root.Release.Namespace }}
- { name: PAGE_HOSTS, value: {{ join "," (concat (list $page $inside (printf "%s.svc" $inside) (printf "%s.svc.cluster.local" $inside)) .values.hosts) | quote }} }
{{- else if eq .component "sinks" }}
- { name: SINKS_FILE, value: /etc/dovetail-sinks/sinks.yaml }
{{- else if ne .component "solver" }}
- { name: LEASE_NAMESPACE, valueFrom: { fieldRef: { fieldPath: metadata.namespace } } }
- { name: LEASE_DURATION, value: {{ .root.Values.leaseDuration | quote }} }
{{- end }}
{{- if or (eq .component "launcher") (eq .component "reaper") }}
- { name: AWS_REGION, value: {{ .root.Values.cluster.region | quote }} }
- { name: CONSOLIDATION, value: {{ .root.Values.consolidation | quote }} }
{{- end }}
{{- if eq .component "reaper" }}
# Plain decimals: Helm would write a small number as 1e-05.
- { name: CONSOLIDATION_MOVE_COST, value: {{ printf "%.6f" (float64 .root.Values.consolidationMoveCost) | quote }} }
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
{{- $settings := .root.Values.settings }}
{{- if eq .component "pod-watcher" }}
- { name: BATCH_IDLE_DURATION, value: {{ $settings.batchIdleDuration | quote }} }
- { name: BATCH_MAX_DURATION, value: {{ $settings.batchMaxDuration | quote }} }
{{- end }}
{{- if eq .component "launcher" }}
- { name: CLUSTER_ENDPOINT, value: {{ include "dovetail.clusterEndpoint" .root | quote }} }
- { name: CLUSTER_CA_BUNDLE, value: {{ $settings.clusterCABundle | quote }} }
- { name: CLUSTER_SERVICE_CIDR, value: {{ $settings.clusterServiceCidr | quote }} }
- { name: ISOLATED_VPC, value: {{ $settings.isolatedVPC | quote }} }
- { name: VM_MEMORY_OVERHEAD_PERCENT, value: {{ $settings.vmMemoryOverheadPercent | quote }} }
- { name: RESERVED_ENIS, value: {{ int $settings.reservedENIs | quote }} }
- { name: PLACEMENT, value: {{ .root.Values.placement | quote }} }
- { name: DEFAULT_INSTANCE_PROFILE, value: {{ include "dovetail.defaultInstanceProfile" .root | quote }} }
{{- end }}
{{- if eq .component "reaper" }}
{{- $gates := $settings.featureGates }}
- name: FEATURE_GATES
  value: NodeRepair={{ $gates.nodeRepair | default false }},SpotToSpotConsolidation={{ $gates.spotToSpotConsolidation | default false }}
- { name: DISABLE_CLUSTER_STATE_OBSERVABILITY, value: {{ $settings.disableClusterStateObservability | default false | quote }} }
- { name: INTERRUPTION_QUEUE, value: {{ .root.Values.interruptionQueue | quote }} }
{{- end }}
{{- range $name, $value := merge (dict) .block.env .block.extraEnv }}
{{- if kindIs "map" $value }}
- name: {{ $name }}
  valueFrom: {{- toYaml $value.valueFrom | nindent 4 }}
{{- else }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- end }}
{{- end -}}
