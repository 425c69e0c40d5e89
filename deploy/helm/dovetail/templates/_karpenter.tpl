{{/*
  Values under their names in Karpenter's chart before v0.32, as guides of that time give them: clusterName, clusterEndpoint,
  aws.defaultInstanceProfile and serviceAccount.annotations.
*/}}

{{/* A value that has two names. Called with names (old, new) and values (old, new). */}}
{{- define "dovetail.either" -}}
{{- $old := index .values 0 | default "" -}}
{{- $new := index .values 1 | default "" -}}
{{- if and $old $new (ne $old $new) -}}
{{- fail (printf "%s is %s, and %s is %s: they are one value, give one of them" (index .names 0) $old (index .names 1) $new) -}}
{{- end -}}
{{- $new | default $old -}}
{{- end -}}

{{/* The cluster's name in EC2 tags and EKS. Called with the root. */}}
{{- define "dovetail.clusterInAws" -}}
{{- $values := list .Values.clusterName .Values.cluster.name -}}
{{- include "dovetail.either" (dict "names" (list "clusterName" "cluster.name") "values" $values) -}}
{{- end -}}

{{- define "dovetail.clusterEndpoint" -}}
{{- $values := list .Values.clusterEndpoint .Values.settings.clusterEndpoint -}}
{{- include "dovetail.either" (dict "names" (list "clusterEndpoint" "settings.clusterEndpoint") "values" $values) -}}
{{- end -}}

{{- define "dovetail.defaultInstanceProfile" -}}
{{- $values := list (.Values.aws | default dict).defaultInstanceProfile .Values.defaultInstanceProfile -}}
{{- include "dovetail.either" (dict "names" (list "aws.defaultInstanceProfile" "defaultInstanceProfile") "values" $values) -}}
{{- end -}}

{{/* The annotations of a service's account, as YAML. Karpenter's are for AWS, which only two services call. */}}
{{- define "dovetail.accountAnnotations" -}}
{{- $shared := (.root.Values.serviceAccount | default dict).annotations | default dict -}}
{{- if not (has .component (list "launcher" "reaper")) -}}{{- $shared = dict -}}{{- end -}}
{{- merge (dict) (.values.serviceAccountAnnotations | default dict) $shared | toYaml -}}
{{- end -}}
