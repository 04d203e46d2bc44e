{{- /* Only what Go's own templates have is used here, so that any program that renders them can check the chart. */ -}}
{{- define "studiogate.labels" -}}
app.kubernetes.io/name: studiogate, app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "studiogate.security" -}}
runAsNonRoot: true, runAsUser: 10001, runAsGroup: 10001, fsGroup: 10001, seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "studiogate.environment" }}
          envFrom:
            - secretRef: {name: {{ printf "%q" .Values.secret }}}
          env:
            - {name: STUDIOGATE_LOG_FORMAT, value: json}
{{- range $name, $value := .Values.settings }}
            - {name: {{ $name }}, value: {{ printf "%q" $value }}}
{{- end }}
          securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
          volumeMounts:
            - {name: data, mountPath: /data}
            - {name: tmp, mountPath: /tmp}
{{- end -}}

{{- define "studiogate.volumes" }}
      volumes:
        - {name: data, {{ if .Values.claim }}persistentVolumeClaim: {claimName: {{ printf "%q" .Values.claim }}}{{ else }}emptyDir: {}{{ end }}}
        - {name: tmp, emptyDir: {}}
{{- end -}}
