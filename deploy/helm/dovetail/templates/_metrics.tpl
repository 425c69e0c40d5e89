{{/* How one service's metrics are found. Called with root, component and block. */}}
{{- define "dovetail.metrics" -}}
{{- $metrics := .root.Values.metrics -}}
{{- if or $metrics.service.enabled $metrics.serviceMonitor.enabled }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ include "dovetail.serviceName" . }}
  namespace: {{ .root.Release.Namespace }}
  {{- include "dovetail.metadata" (merge (dict "annotations" $metrics.service.annotations) .) | nindent 2 }}
spec:
  # Addresses of single pods: metrics are of one pod, and one that is not ready has some too.
  clusterIP: None
  publishNotReadyAddresses: true
  selector: {{- include "dovetail.selector" . | nindent 4 }}
  ports:
    - { name: http-metrics, port: {{ int .block.port }}, targetPort: http, protocol: TCP }
{{- end }}
{{- if $metrics.serviceMonitor.enabled }}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
{{- include "dovetail.monitor" (merge (dict "monitor" $metrics.serviceMonitor "list" "endpoints" "port" "http-metrics") .) }}
{{- end }}
{{- if $metrics.podMonitor.enabled }}
---
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
{{- include "dovetail.monitor" (merge (dict "monitor" $metrics.podMonitor "list" "podMetricsEndpoints" "port" "http") .) }}
{{- end }}
{{- end -}}

{{/* A duration of Prometheus in milliseconds, such as 30s or 1m30s. */}}
{{- define "dovetail.milliseconds" -}}
{{- $units := dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000 "d" 86400000 -}}
{{- $sum := 0 -}}
{{- range regexFindAll "[0-9]+(ms|[smhd])" . -1 -}}
{{- $sum = add $sum (mul (regexFind "^[0-9]+" . | int) (get $units (regexFind "[a-z]+$" .))) -}}
{{- end -}}
{{- $sum -}}
{{- end -}}

{{/* The body of either kind of monitor. Called also with monitor (its values), list (its field) and port. */}}
{{- define "dovetail.monitor" }}
{{- if gt (include "dovetail.milliseconds" .monitor.scrapeTimeout | int) (include "dovetail.milliseconds" .monitor.interval | int) }}
{{- fail (printf "scrapeTimeout of a monitor is %s, more than its interval, %s, which Prometheus refuses: set both" .monitor.scrapeTimeout .monitor.interval) }}
{{- end }}
metadata:
  name: {{ include "dovetail.serviceName" . }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- toYaml (merge (include "dovetail.labels" . | fromYaml) .monitor.labels) | nindent 4 }}
  {{- with .root.Values.additionalAnnotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  selector:
    matchLabels: {{- include "dovetail.selector" . | nindent 6 }}
  {{ .list }}:
    - port: {{ .port }}
      path: /metrics
      interval: {{ .monitor.interval }}
      scrapeTimeout: {{ .monitor.scrapeTimeout }}
      {{- with .monitor.relabelings }}
      relabelings: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .monitor.metricRelabelings }}
      metricRelabelings: {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end -}}
