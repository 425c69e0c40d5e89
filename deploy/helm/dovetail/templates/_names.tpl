{{/* The name in app.kubernetes.io/name. */}}
{{- define "dovetail.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The first part of every name. 63 characters are the most of a label. -pod-watcher follows, or
     -nats and what a StatefulSet adds for the label of a revision: 11 characters. */}}
{{- define "dovetail.fullname" -}}
{{- $name := .Values.nameOverride -}}
{{- $default := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (or (not $name) (contains $name .Release.Name)) -}}
{{- .Values.fullnameOverride | default $default | trunc 47 | trimSuffix "-" -}}
{{- end -}}

{{/* A component's objects in the namespace. */}}
{{- define "dovetail.serviceName" -}}
{{ include "dovetail.fullname" .root }}-{{ .component }}
{{- end -}}

{{/* A component's objects without a namespace: two releases of one name may stand in two namespaces. */}}
{{- define "dovetail.clusterName" -}}
{{ .root.Release.Namespace }}.{{ include "dovetail.serviceName" . }}
{{- end -}}

{{/* The ConfigMap of the levels of logs. */}}
{{- define "dovetail.loggingName" -}}
{{ include "dovetail.fullname" . }}-logging
{{- end -}}

{{- define "dovetail.accountName" -}}
{{- $account := .values.serviceAccount | default dict -}}
{{- if $account.create -}}
{{- $account.name | default (include "dovetail.serviceName" .) -}}
{{- else -}}
{{- $account.name | default "default" -}}
{{- end -}}
{{- end -}}

{{/* The labels that select a component's pods; a Deployment's selector never changes. */}}
{{- define "dovetail.selector" -}}
app.kubernetes.io/name: {{ include "dovetail.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "dovetail.labels" -}}
{{ include "dovetail.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/part-of: dovetail
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .root.Values.additionalLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The labels and annotations of an object. Called with root, component, and annotations of its own. */}}
{{- define "dovetail.metadata" -}}
labels: {{- include "dovetail.labels" . | nindent 2 }}
{{- with merge (deepCopy (.annotations | default dict)) .root.Values.additionalAnnotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "dovetail.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}
