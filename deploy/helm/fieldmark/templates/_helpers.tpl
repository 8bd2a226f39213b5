{{- define "fieldmark.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end -}}
{{- end }}

{{- define "fieldmark.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "fieldmark.labels" -}}
{{ include "fieldmark.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "fieldmark.image" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}

{{- /* What every pod is held to: no rights, nothing to write to. */ -}}
{{- define "fieldmark.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* A changed Secret restarts pods: they read it when they start. Empty where Helm
cannot ask a cluster (helm template). */ -}}
{{- define "fieldmark.annotations" -}}
{{- $secret := lookup "v1" "Secret" .Release.Namespace .Values.existingSecret -}}
{{- with $secret.data }}
checksum/secret: {{ toJson . | sha256sum }}
{{- end }}
{{- with .Values.podAnnotations }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "fieldmark.container" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
volumeMounts:
  - { name: secrets, mountPath: /run/secrets/fieldmark, readOnly: true }
  - { name: scratch, mountPath: /data }
{{- end }}

{{- define "fieldmark.volumes" -}}
- name: secrets
  secret: { secretName: {{ .Values.existingSecret }}, defaultMode: 0440 }
- name: scratch
  emptyDir: { sizeLimit: 64Mi }
{{- end }}

{{- define "fieldmark.probes" -}}
# A pod has started when it answers. How long the first ranking takes depends on
# the number of brands; until then the pod is not ready, and is not restarted.
startupProbe:
  httpGet: { path: /livez, port: debug }
  periodSeconds: 1
  failureThreshold: 60
readinessProbe:
  httpGet: { path: /readyz, port: debug }
  periodSeconds: 2
  timeoutSeconds: 3
livenessProbe:
  httpGet: { path: /livez, port: debug }
  periodSeconds: 10
  timeoutSeconds: 5
{{- end }}

{{- define "fieldmark.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "fieldmark.selector" .top | nindent 8 }}
        app.kubernetes.io/component: {{ .component }}
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "fieldmark.selector" .top | nindent 8 }}
        app.kubernetes.io/component: {{ .component }}
affinity:
  {{- if .top.Values.affinity }}
  {{- toYaml .top.Values.affinity | nindent 2 }}
  {{- else }}
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              {{- include "fieldmark.selector" .top | nindent 14 }}
              app.kubernetes.io/component: {{ .component }}
  {{- end }}
{{- end }}

{{- /* Every origin by the name of its pod, so that edges check, choose and retry them
one by one. */ -}}
{{- define "fieldmark.origins" -}}
{{- $name := printf "%s-origin" (include "fieldmark.name" .) -}}
{{- range $i := until (int .Values.origin.replicas) -}}
{{- if $i }},{{ end }}http://{{ $name }}-{{ $i }}.{{ $name }}:8081
{{- end -}}
{{- end }}
