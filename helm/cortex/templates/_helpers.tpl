{{- define "cortex.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{- else -}}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{- end -}}
{{- end -}}

{{/* Services of the code, each with what values.yaml says of it. */}}
{{- define "cortex.services" -}}
{{- $values := .Values.services -}}
{{- $services := .Files.Get "services.yaml" | fromYaml -}}
{{- range $name, $service := $services -}}
{{- $_ := set $service "values" (get $values $name | default dict) -}}
{{- end -}}
{{ $services | toYaml }}
{{- end -}}

{{- define "cortex.image" -}}
{{- if .Values.image.digest -}}{{ .Values.image.repository }}@{{ .Values.image.digest }}{{- else -}}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{- end -}}
{{- end -}}

{{/* (dict "root" $ "component" name) */}}
{{- define "cortex.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "cortex.labels" -}}
{{ include "cortex.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{- define "cortex.natsUrl" -}}
{{- if .Values.nats.enabled -}}nats://{{ include "cortex.fullname" . }}-nats:4222{{- else -}}
{{- $url := required "nats.url is missing; set it, or nats.enabled" .Values.nats.url -}}
{{- if not (or (hasPrefix "tls://" $url) .Values.allowInsecureServers) -}}{{ fail "nats.url leads to another network without TLS; write tls://, or set allowInsecureServers" }}{{- end -}}
{{- $url -}}
{{- end -}}
{{- end -}}

{{/* The servers of the cluster and the password by which they know each other: a route passes by every permission. (root, password) */}}
{{- define "cortex.natsRoutes" -}}
{{- $full := include "cortex.fullname" .root -}}
{{- $password := .password -}}
authorization { user: "route", password: "{{ $password }}", timeout: 5 }
routes: [{{ range $i := until (int .root.Values.nats.replicas) }}{{ if $i }}, {{ end }}"nats://route:{{ $password }}@{{ $full }}-nats-{{ $i }}.{{ $full }}-nats-peers:6222"{{ end }}]
{{ end -}}

{{- define "cortex.databaseUrl" -}}
{{- if .Values.postgres.enabled -}}postgres://{{ include "cortex.fullname" . }}-postgres:5432/cortex{{- else -}}
{{- $url := required "postgres.url is missing; set it, or postgres.enabled" .Values.postgres.url -}}
{{- if not (or (regexMatch "[?&]sslmode=(require|verify-ca|verify-full)(&|$)" $url) .Values.allowInsecureServers) -}}{{ fail "postgres.url leads to another network without TLS; add sslmode=verify-full, or set allowInsecureServers" }}{{- end -}}
{{- $url -}}
{{- end -}}
{{- end -}}

{{/* What the restricted profile asks of a pod and of a container. (uid) */}}
{{- define "cortex.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ . }}
runAsGroup: {{ . }}
fsGroup: {{ . }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "cortex.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities: { drop: [ALL] }
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{/* Where pods go. (dict "root" $ "component" name) */}}
{{- define "cortex.placement" -}}
topologySpreadConstraints:
  {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: {{ $.root.Values.topologySpread.whenUnsatisfiable }}
    labelSelector:
      matchLabels: {{- include "cortex.selector" $ | nindent 8 }}
  {{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Certificates for servers elsewhere: where they are mounted, and out of which secrets. */}}
{{- define "cortex.tlsMounts" -}}
{{- range $server := list "nats" "postgres" }}
{{- if (index $.Values $server).tlsSecret }}
- { name: tls-{{ $server }}, mountPath: /run/cortex/tls/{{ $server }}, readOnly: true }
{{- end }}
{{- end }}
{{- end -}}

{{- define "cortex.tlsVolumes" -}}
{{- range $server := list "nats" "postgres" }}
{{- with (index $.Values $server).tlsSecret }}
- name: tls-{{ $server }}
  secret: { secretName: {{ . }}, defaultMode: 0440 }
{{- end }}
{{- end }}
{{- end -}}

{{/* Environment that every process of ours understands. */}}
{{- define "cortex.environment" -}}
- { name: NODE_ENV, value: production }
- { name: CORTEX_NATS_URL, value: {{ include "cortex.natsUrl" . | quote }} }
- { name: CORTEX_DATABASE_URL, value: {{ include "cortex.databaseUrl" . | quote }} }
{{- if or .Values.nats.enabled .Values.postgres.enabled .Values.allowInsecureServers }}
# A server of the chart's own is reached inside the namespace, past its network policies.
- { name: CORTEX_ALLOW_INSECURE_SERVERS, value: 'true' }
{{- end }}
{{- if .Values.nats.tlsSecret }}
- { name: CORTEX_NATS_CA_FILE, value: /run/cortex/tls/nats/ca.crt }
{{- if .Values.nats.clientCertificate }}
- { name: CORTEX_NATS_CERT_FILE, value: /run/cortex/tls/nats/tls.crt }
- { name: CORTEX_NATS_KEY_FILE, value: /run/cortex/tls/nats/tls.key }
{{- end }}
{{- end }}
- { name: CORTEX_SECRETS_DIR, value: /run/cortex/secrets }
- { name: CORTEX_CANONICAL_URI, value: {{ required "canonicalUri is missing; set it to the public URL of /mcp" .Values.canonicalUri | quote }} }
- { name: CORTEX_LOG_LEVEL, value: {{ .Values.logLevel | quote }} }
{{- with .Values.otlpEndpoint }}
- { name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ . | quote }} }
{{- end }}
{{- end -}}

{{- /* A disk of a StatefulSet (name, size, storageClass), with all that the API server adds: it compares the list whole, so that otherwise each upgrade would change it. */ -}}
{{- define "cortex.claim" -}}
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata: { name: {{ .name }}, creationTimestamp: null }
  spec:
    accessModes: [ReadWriteOnce]
    {{- with .storageClass }}
    storageClassName: {{ . }}
    {{- end }}
    volumeMode: Filesystem
    resources: { requests: { storage: {{ .size }} } }
  status: { phase: Pending }
{{- end }}
