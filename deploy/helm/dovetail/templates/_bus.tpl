{{/* Whether a hook makes the keys of the services' users on NATS: said so, or for servers of this chart without users. */}}
{{- define "dovetail.makesKeys" -}}
{{- $nats := .Values.nats -}}
{{- if or $nats.createKeys (and $nats.server.enabled (not $nats.server.usersSecret)) -}}true{{- end -}}
{{- end -}}

{{/* The Secret with the users of NATS. */}}
{{- define "dovetail.busUsersSecret" -}}
{{- .Values.nats.server.usersSecret | default (printf "%s-nats-users" (include "dovetail.fullname" .)) -}}
{{- end -}}

{{/* The Secret with the certificate of the chart's own NATS, and with its authority. */}}
{{- define "dovetail.busTlsSecret" -}}
{{- .Values.nats.server.tls.secret | default (printf "%s-nats-tls" (include "dovetail.fullname" .)) -}}
{{- end -}}

{{/* The Secret with the key of a service; empty: it has none. Called with root, component and values. */}}
{{- define "dovetail.busCredentials" -}}
{{- $made := ternary (printf "%s-nats-%s" (include "dovetail.fullname" .root) .component) "" (eq (include "dovetail.makesKeys" .root) "true") -}}
{{- .values.natsCredentialsSecret | default .root.Values.nats.credentialsSecret | default $made -}}
{{- end -}}

{{/* The Secret whose ca.crt signs NATS' own certificate; empty: the authorities of the system. */}}
{{- define "dovetail.busCaSecret" -}}
{{- $server := .Values.nats.server -}}
{{- .Values.nats.tls.caSecret | default (ternary (include "dovetail.busTlsSecret" .) "" (and $server.enabled $server.tls.enabled)) -}}
{{- end -}}

{{/* Refuses a bus that is open by oversight. Called with root, component and values. */}}
{{- define "dovetail.checkBus" -}}
{{- $nats := .root.Values.nats -}}
{{- if not (or $nats.insecure $nats.tls.clientSecret (include "dovetail.busCredentials" .)) -}}
{{- fail (printf "%s has no credentials for NATS, and without them anyone who reaches NATS can buy nodes: set nats.createKeys, nats.credentialsSecret or its natsCredentialsSecret; nats.insecure=true accepts an open NATS" .component) -}}
{{- end -}}
{{- end -}}

{{/* The address of NATS: of its own value, or of the servers that this chart installs. */}}
{{- define "dovetail.natsUrl" -}}
{{- $server := .Values.nats.server -}}
{{- if .Values.nats.url -}}
{{ .Values.nats.url }}
{{- else if $server.enabled -}}
{{ ternary "tls" "nats" $server.tls.enabled }}://{{ include "dovetail.serviceName" (dict "root" . "component" "nats") }}.{{ .Release.Namespace }}.svc:4222
{{- else -}}
{{- fail "nats.url is empty: write the address of NATS with JetStream, or set nats.server.enabled" -}}
{{- end -}}
{{- end -}}

{{/* The ports at which solvers reach NATS, separated by commas: the one that was given, or those of its address. */}}
{{- define "dovetail.natsPorts" -}}
{{- if .Values.networkPolicy.natsPort -}}
{{ int .Values.networkPolicy.natsPort }}
{{- else -}}
{{- $ports := list -}}
{{- range splitList "," (include "dovetail.natsUrl" .) -}}
{{- $ports = append $ports (regexFind ":[0-9]+$" . | trimPrefix ":" | default "4222") -}}
{{- end -}}
{{- join "," $ports -}}
{{- end -}}
{{- end -}}

{{/* What lets a pod out to NATS and to DNS: to the servers of this chart, or to the ports of another NATS. */}}
{{- define "dovetail.natsEgress" -}}
- ports:
    {{- range include "dovetail.natsPorts" . | splitList "," | uniq }}
    - { port: {{ . }}, protocol: TCP }
    {{- end }}
  {{- if and .Values.nats.server.enabled (not .Values.nats.url) }}
  to:
    - podSelector:
        matchLabels: {{- include "dovetail.selector" (dict "root" . "component" "nats") | nindent 10 }}
  {{- end }}
- ports: [{ port: 53, protocol: UDP }, { port: 53, protocol: TCP }]
{{- end -}}

{{/* The port at which services reach the receiver of traces: the one that was given, or that of its address. */}}
{{- define "dovetail.otelPort" -}}
{{- $url := urlParse .Values.otel.endpoint -}}
{{- if .Values.networkPolicy.otelPort -}}
{{ int .Values.networkPolicy.otelPort }}
{{- else -}}
{{ regexFind ":[0-9]+$" $url.host | trimPrefix ":" | default (ternary "443" "80" (eq $url.scheme "https")) }}
{{- end -}}
{{- end -}}

{{/* An amount such as 2GB or 3Gi in MiB. NATS' units are powers of 1024, with B and without i, too. */}}
{{- define "dovetail.mebibytes" -}}
{{- $units := dict "K" 0.0009765625 "M" 1.0 "G" 1024.0 "T" 1048576.0 -}}
{{- mulf (regexFind "^[0-9]+" . | float64) (get $units (regexFind "[KMGT]" .)) -}}
{{- end -}}
