{{- define "selvedge.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "selvedge.selector" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "selvedge.labels" -}}
{{ include "selvedge.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "selvedge.image" -}}
{{ .image.repository }}:{{ default .root.Chart.AppVersion .image.tag }}
{{- end -}}

{{- define "selvedge.hubScheme" -}}
{{- if .Values.hub.tls.existingSecret -}}https{{- else -}}http{{- end -}}
{{- end -}}

{{- define "selvedge.serviceUrl" -}}
{{- printf "%s://%s-hub.%s.svc:%d" (include "selvedge.hubScheme" .) (include "selvedge.fullname" .) .Release.Namespace (int .Values.hub.service.port) -}}
{{- end -}}

{{/* The URL of the hub for workers and the scaler. */}}
{{- define "selvedge.hubUrl" -}}
{{- if .Values.worker.hubUrl -}}
{{- .Values.worker.hubUrl -}}
{{- else if .Values.hub.enabled -}}
{{- include "selvedge.serviceUrl" . -}}
{{- else -}}
{{- fail "worker.hubUrl: name the hub, because hub.enabled is false" -}}
{{- end -}}
{{- end -}}

{{/* The URL of the hub for users. */}}
{{- define "selvedge.publicUrl" -}}
{{- if (.Values.hub.config | default dict).public_url -}}
{{- .Values.hub.config.public_url -}}
{{- else if .Values.hub.ingress.enabled -}}
{{- printf "http%s://%s" (ternary "s" "" (or (ne .Values.hub.ingress.tlsSecret "") (ne .Values.hub.tls.existingSecret ""))) .Values.hub.ingress.host -}}
{{- else -}}
{{- include "selvedge.serviceUrl" . -}}
{{- end -}}
{{- end -}}

{{/* Rules for egress to name servers. */}}
{{- define "selvedge.dnsEgress" -}}
- ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
{{- end -}}

{{/* Peers for egress to every address but the metadata services of clouds, at which pods get the credentials of nodes. */}}
{{- define "selvedge.anyAddress" -}}
- ipBlock:
    cidr: 0.0.0.0/0
    except:
      - 169.254.169.254/32
- ipBlock:
    cidr: ::/0
    except:
      - fd00:ec2::254/128
{{- end -}}

{{/* Names by which clients address the hub, as a JSON list. The hub adds its port to each of them. */}}
{{- define "selvedge.hosts" -}}
{{- $service := printf "%s-hub" (include "selvedge.fullname" .) -}}
{{- $hosts := list $service (printf "%s.%s" $service .Release.Namespace) (printf "%s.%s.svc" $service .Release.Namespace) (printf "%s.%s.svc.cluster.local" $service .Release.Namespace) -}}
{{- if .Values.hub.ingress.enabled -}}
{{- $hosts = append $hosts .Values.hub.ingress.host -}}
{{- end -}}
{{- concat $hosts .Values.hub.extraHosts | uniq | toJson -}}
{{- end -}}

{{- define "selvedge.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
{{- end -}}

{{- define "selvedge.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop:
    - ALL
{{- end -}}

{{- define "selvedge.probe" -}}
httpGet:
  path: {{ .path }}
  port: http
  scheme: {{ include "selvedge.hubScheme" .root | upper }}
  httpHeaders:
    - name: Host
      value: {{ include "selvedge.fullname" .root }}-hub
{{- end -}}

{{/* The pod of a worker: .root, and .once for a worker that takes one task. */}}
{{- define "selvedge.workerPod" -}}
{{- $worker := .root.Values.worker -}}
metadata:
  labels:
    {{- include "selvedge.labels" (dict "root" .root "component" "worker") | nindent 4 }}
  annotations:
    checksum/settings: {{ $worker.settings | sha256sum }}
    {{- with $worker.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  automountServiceAccountToken: false
  # Variables of services would look like options of the hub.
  enableServiceLinks: false
  {{- if eq $worker.sandbox "bubblewrap" }}
  hostUsers: false
  {{- end }}
  {{- with .root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if .once }}
  restartPolicy: Never
  {{- end }}
  terminationGracePeriodSeconds: {{ $worker.terminationGracePeriodSeconds }}
  securityContext:
    {{- include "selvedge.podSecurity" . | nindent 4 }}
    seccompProfile:
      type: {{ if eq $worker.sandbox "bubblewrap" }}Unconfined{{ else }}RuntimeDefault{{ end }}
  {{- if $worker.settings }}
  initContainers:
    # A mounted file would leave the directory to root, and agents write their own settings beside it.
    - name: settings
      image: {{ include "selvedge.image" (dict "root" .root "image" $worker.image) | quote }}
      imagePullPolicy: {{ $worker.image.pullPolicy }}
      command:
        - /bin/sh
        - -ec
        - mkdir -p /data/.config/selvedge && cp /settings/config.toml /data/.config/selvedge/config.toml
      securityContext:
        {{- include "selvedge.containerSecurity" . | nindent 8 }}
      volumeMounts:
        - name: data
          mountPath: /data
        - name: settings
          mountPath: /settings
          readOnly: true
  {{- end }}
  containers:
    - name: worker
      image: {{ include "selvedge.image" (dict "root" .root "image" $worker.image) | quote }}
      imagePullPolicy: {{ $worker.image.pullPolicy }}
      {{- if .once }}
      # Appended to the image's own command.
      args:
        - --once
        - --ignore-outcome
        - --idle-timeout={{ $worker.jobs.idleTimeout }}
      {{- end }}
      env:
        - name: SELVEDGE_WORKER_HUB
          value: {{ include "selvedge.hubUrl" .root | quote }}
        - name: SELVEDGE_WORKER_TOKEN_FILE
          value: /var/run/secrets/selvedge/token
        - name: SELVEDGE_WORKER_NAME
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
        {{- if not .once }}
        - name: SELVEDGE_WORKER_SLOTS
          value: {{ $worker.slots | quote }}
        {{- end }}
        {{- with $worker.labels }}
        - name: SELVEDGE_WORKER_LABELS
          value: {{ join "," . | quote }}
        {{- end }}
        - name: SELVEDGE_SANDBOX_BACKEND
          value: {{ $worker.sandbox | quote }}
        {{- with $worker.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with $worker.envFromSecrets }}
      envFrom:
        {{- range . }}
        - secretRef:
            name: {{ . | quote }}
        {{- end }}
      {{- end }}
      securityContext:
        {{- include "selvedge.containerSecurity" . | nindent 8 }}
        {{- if eq $worker.sandbox "bubblewrap" }}
        procMount: Unmasked
        appArmorProfile:
          type: Unconfined
        {{- end }}
      {{- with $worker.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        - name: data
          mountPath: /data
        - name: tmp
          mountPath: /tmp
        - name: token
          mountPath: /var/run/secrets/selvedge
          readOnly: true
        {{- with $worker.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: data
      emptyDir:
        sizeLimit: {{ $worker.workdir.sizeLimit }}
    - name: tmp
      emptyDir: {}
    # Mounted as a directory, so that a renewed token reaches the running worker.
    - name: token
      secret:
        secretName: {{ $worker.tokenSecret.name }}
        defaultMode: 0440
        items:
          - key: {{ $worker.tokenSecret.key }}
            path: token
    {{- if $worker.settings }}
    - name: settings
      configMap:
        name: {{ include "selvedge.fullname" .root }}-worker
    {{- end }}
    {{- with $worker.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $worker.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $worker.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $worker.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/* The port of the object store. */}}
{{- define "selvedge.objectStorePort" -}}
{{- $url := urlParse (default "https://s3" .Values.hub.objectStore.endpoint) -}}
{{- $port := regexFind ":[0-9]+$" $url.host | trimPrefix ":" -}}
{{- default (ternary "80" "443" (eq $url.scheme "http")) $port -}}
{{- end }}
