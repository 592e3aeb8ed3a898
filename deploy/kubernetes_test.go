package _test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"molar/internal/config"
)

type labels map[string]string

// The fields of Kubernetes' objects that the file uses. An unknown field fails the decoder.
type (
	object struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   struct {
			Name   string
			Labels labels
		}
		Data map[string]string
		Spec struct {
			// Deployment
			Replicas        int
			MinReadySeconds int `yaml:"minReadySeconds"`
			Strategy        struct {
				Type          string
				RollingUpdate struct {
					MaxUnavailable int `yaml:"maxUnavailable"`
					MaxSurge       int `yaml:"maxSurge"`
				} `yaml:"rollingUpdate"`
			}
			Selector any
			Template struct {
				Metadata struct {
					Labels      labels
					Annotations map[string]string
				}
				Spec pod
			}
			// Service
			Ports []struct {
				Name       string
				Port       int
				TargetPort string `yaml:"targetPort"`
			}
			// PodDisruptionBudget
			MaxUnavailable int `yaml:"maxUnavailable"`
		}
	}
	pod struct {
		TerminationGracePeriodSeconds int   `yaml:"terminationGracePeriodSeconds"`
		AutomountServiceAccountToken  *bool `yaml:"automountServiceAccountToken"`
		SecurityContext               struct {
			RunAsNonRoot   bool                  `yaml:"runAsNonRoot"`
			RunAsUser      int                   `yaml:"runAsUser"`
			RunAsGroup     int                   `yaml:"runAsGroup"`
			FSGroup        int                   `yaml:"fsGroup"`
			SeccompProfile struct{ Type string } `yaml:"seccompProfile"`
		} `yaml:"securityContext"`
		TopologySpreadConstraints []struct {
			MaxSkew           int    `yaml:"maxSkew"`
			TopologyKey       string `yaml:"topologyKey"`
			WhenUnsatisfiable string `yaml:"whenUnsatisfiable"`
			LabelSelector     struct {
				MatchLabels labels `yaml:"matchLabels"`
			} `yaml:"labelSelector"`
		} `yaml:"topologySpreadConstraints"`
		InitContainers []container `yaml:"initContainers"`
		Containers     []container
		Volumes        []struct {
			Name      string
			ConfigMap struct{ Name string } `yaml:"configMap"`
			EmptyDir  map[string]string     `yaml:"emptyDir"`
		}
	}
	container struct {
		Name, Image string
		Args        []string
		Ports       []containerPort
		Env         []struct {
			Name      string
			ValueFrom struct {
				SecretKeyRef struct {
					Name, Key string
					Optional  bool
				} `yaml:"secretKeyRef"`
			} `yaml:"valueFrom"`
		}
		StartupProbe   probe `yaml:"startupProbe"`
		ReadinessProbe probe `yaml:"readinessProbe"`
		LivenessProbe  probe `yaml:"livenessProbe"`
		VolumeMounts   []struct {
			Name      string
			MountPath string `yaml:"mountPath"`
			ReadOnly  bool   `yaml:"readOnly"`
		} `yaml:"volumeMounts"`
		Resources       struct{ Requests, Limits map[string]string }
		SecurityContext struct {
			AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
			ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
			Capabilities             struct{ Drop []string }
		} `yaml:"securityContext"`
	}
	containerPort struct {
		Name          string
		ContainerPort int `yaml:"containerPort"`
	}
	probe struct {
		HTTPGet          struct{ Path, Port string } `yaml:"httpGet"`
		PeriodSeconds    int                         `yaml:"periodSeconds"`
		TimeoutSeconds   int                         `yaml:"timeoutSeconds"`
		FailureThreshold int                         `yaml:"failureThreshold"`
	}
)

// objects reads the file, by kind.
func objects(t *testing.T) map[string]object {
	t.Helper()
	text := read(t, "kubernetes.yaml")
	found := map[string]object{}
	for document := range strings.SplitSeq(text, "\n---\n") {
		var o object
		decode(t, "kubernetes.yaml", document, &o)
		if o.APIVersion == "" || o.Metadata.Name == "" || o.Metadata.Labels["app"] == "" {
			t.Errorf("%s without apiVersion, name or label", o.Kind)
		}
		if _, twice := found[o.Kind]; twice {
			t.Errorf("two objects of kind %s", o.Kind)
		}
		found[o.Kind] = o
	}
	return found
}

// matches reports whether a selector, with or without matchLabels, finds pods of the labels.
func matches(t *testing.T, selector any, pods labels) bool {
	t.Helper()
	text, err := yaml.Marshal(selector)
	if err != nil {
		t.Fatal(err)
	}
	var wants labels
	if s, ok := strings.CutPrefix(string(text), "matchLabels:\n"); ok {
		text = []byte(s)
	}
	if err := yaml.Unmarshal(text, &wants); err != nil {
		t.Fatal(err)
	}
	for name, value := range wants {
		if pods[name] != value {
			return false
		}
	}
	return len(wants) > 0
}

func TestKubernetes(t *testing.T) {
	all := objects(t)
	cfg := settings(t, all["ConfigMap"].Data["molar.yaml"], map[string]string{
		"API_KEY": strings.Repeat("k", 40), "DATABASE_URL": "postgres://molar:x@db/molar",
	})
	d := all["Deployment"].Spec
	pods := d.Template.Metadata.Labels
	for _, kind := range []string{"Deployment", "Service", "PodDisruptionBudget"} {
		if !matches(t, all[kind].Spec.Selector, pods) {
			t.Errorf("the %s selects no pod of %v", kind, pods)
		}
	}
	if d.Replicas < 2 || d.Strategy.RollingUpdate.MaxUnavailable != 0 || all["PodDisruptionBudget"].Spec.MaxUnavailable != 1 {
		t.Errorf("%d replicas, rolled out with %+v", d.Replicas, d.Strategy)
	}
	ends(t, "Deployment", time.Duration(d.Template.Spec.TerminationGracePeriodSeconds)*time.Second, cfg)
	host := d.Template.Spec.Containers[0]
	if host.StartupProbe.HTTPGet.Path != "/ready" || host.ReadinessProbe.HTTPGet.Path != "/ready" || host.LivenessProbe.HTTPGet.Path != "/health" {
		t.Error("a probe asks at another address")
	}
	if notice := time.Duration(host.ReadinessProbe.PeriodSeconds*host.ReadinessProbe.FailureThreshold) * time.Second; cfg.Shutdown.Delay < notice {
		t.Errorf("shutdown.delay is %v, but it takes %v until a pod counts as not ready", cfg.Shutdown.Delay, notice)
	}
	checkPorts(t, host, cfg, d.Template.Metadata.Annotations["prometheus.io/port"])
	if target := all["Service"].Spec.Ports[0].TargetPort; !slices.ContainsFunc(host.Ports, func(p containerPort) bool { return p.Name == target }) {
		t.Errorf("the service sends to the port %q, which no container has", target)
	}
	checkPod(t, d.Template.Spec, all["ConfigMap"].Metadata.Name)
	if migration := d.Template.Spec.InitContainers; len(migration) != 1 || migration[0].Image != host.Image || !slices.Equal(migration[0].Args, []string{"migrate"}) {
		t.Errorf("before the host, the pod runs %+v", migration)
	}
	// An image without a version would be pulled at each start, and be another one on each node.
	if _, version, ok := strings.Cut(host.Image, ":"); !ok || version == "latest" {
		t.Errorf("the image %s has no version", host.Image)
	}
}

// checkPorts compares the ports of a container with those of the config.
func checkPorts(t *testing.T, c container, cfg *config.Config, scraped string) {
	t.Helper()
	listens := map[string]string{"http": cfg.Listen, "metrics": cfg.Metrics.Listen}
	for _, p := range c.Ports {
		if listens[p.Name] != fmt.Sprintf("0.0.0.0:%d", p.ContainerPort) {
			t.Errorf("port %s is %d, but the config listens on %q", p.Name, p.ContainerPort, listens[p.Name])
		}
		if p.Name == "metrics" && scraped != fmt.Sprint(p.ContainerPort) {
			t.Errorf("the annotation leads scrapers to port %s", scraped)
		}
	}
}

// checkPod checks the rights, the mounts, and the source of the secrets.
func checkPod(t *testing.T, p pod, config string) {
	t.Helper()
	if s := p.SecurityContext; !s.RunAsNonRoot || s.RunAsUser != 65532 || s.SeccompProfile.Type != "RuntimeDefault" {
		t.Errorf("the pod runs as %+v", s)
	}
	if p.AutomountServiceAccountToken == nil || *p.AutomountServiceAccountToken {
		t.Error("the pod holds a token of the cluster")
	}
	mounted := map[string]bool{}
	for _, v := range p.Volumes {
		mounted[v.Name] = true
		if v.EmptyDir == nil && v.ConfigMap.Name != config {
			t.Errorf("the pod mounts the unknown config %q", v.ConfigMap.Name)
		}
	}
	for _, c := range slices.Concat(p.InitContainers, p.Containers) {
		for _, m := range c.VolumeMounts {
			if !mounted[m.Name] {
				t.Errorf("%s mounts %s, which is not a volume", c.Name, m.Name)
			}
		}
		if s := c.SecurityContext; s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || !s.ReadOnlyRootFilesystem || !slices.Equal(s.Capabilities.Drop, []string{"ALL"}) {
			t.Errorf("%s has more rights than it needs: %+v", c.Name, s)
		}
		for _, e := range c.Env {
			if e.ValueFrom.SecretKeyRef.Name == "" || e.ValueFrom.SecretKeyRef.Key == "" {
				t.Errorf("%s: %s does not come from the secret", c.Name, e.Name)
			}
		}
		if c.Resources.Limits["memory"] == "" || c.Resources.Requests["memory"] == "" {
			t.Errorf("%s: resources %+v", c.Name, c.Resources)
		}
	}
}
