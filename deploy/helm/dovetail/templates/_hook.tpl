{{/*
  A pod of the chart's own that Helm runs once, by the command of the image. Called with root, component, block, account
  (its ServiceAccount; empty: none, without a token), args, and env, mounts and volumes as text, each of them optional.
*/}}
{{- define "dovetail.hookPod" -}}
serviceAccountName: {{ .account | default "default" }}
automountServiceAccountToken: {{ ne (.account | default "") "" }}
restartPolicy: Never
{{ include "dovetail.placement" . | trim }}
{{- with .block.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: {{ .component }}
    image: {{ include "dovetail.image" .root | quote }}
    imagePullPolicy: {{ .root.Values.image.pullPolicy }}
    args: {{- toYaml .args | nindent 6 }}
    # What the command says is also in the status of the pod.
    terminationMessagePolicy: FallbackToLogsOnError
    {{- with .block.securityContext }}
    securityContext: {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with .env }}
    env: {{- . | nindent 6 }}
    {{- end }}
    resources:
      requests: { cpu: 50m, memory: 96Mi }
      limits: { memory: 256Mi }
    {{- with .mounts }}
    volumeMounts: {{- . | nindent 6 }}
    {{- end }}
{{- with .volumes }}
volumes: {{- . | nindent 2 }}
{{- end }}
{{- end -}}
