package _test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"molar/internal/telemetry"
	"molar/internal/testkit"
)

// The dashboard is made from the list of metrics: a panel for each.
func TestDashboard(t *testing.T) {
	const file = "grafana/molar.json"
	made, err := json.MarshalIndent(dashboard(telemetry.List()), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	testkit.Same(t, file, string(made)+"\n")
	namesExist(t, file)
}

// Every name and label in the alerts exists, and each alert names the section with its remedy.
func TestAlerts(t *testing.T) {
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For string
				Labels           struct{ Severity string }
				Annotations      struct{ Summary, Runbook string }
			}
		}
	}
	decode(t, "alerts.yaml", read(t, "alerts.yaml"), &file)
	namesExist(t, "alerts.yaml")
	page := read(t, "../docs/operations.md")
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			anchor := "docs/operations.md#" + strings.ToLower(r.Alert)
			if r.Annotations.Runbook != anchor || !strings.Contains(page, "\n### "+r.Alert+"\n") {
				t.Errorf("%s: nothing at %q says what to do", r.Alert, anchor)
			}
			if r.Expr == "" || r.For == "" || r.Labels.Severity == "" || r.Annotations.Summary == "" {
				t.Errorf("%s lacks something: %+v", r.Alert, r)
			}
		}
	}
}

// namesExist checks the metrics in the expressions of a file, and their labels.
func namesExist(t *testing.T, file string) {
	t.Helper()
	known := map[string]telemetry.Metric{}
	for _, m := range telemetry.List() {
		switch m.Kind {
		case telemetry.Histogram:
			for _, part := range []string{"_bucket", "_count", "_sum"} {
				known[m.Name+part] = m
			}
		default:
			known[m.Name] = m
		}
	}
	text := read(t, file)
	names := regexp.MustCompile(`\bmolar_\w+`).FindAllString(text, -1)
	if len(names) == 0 {
		t.Errorf("%s names no metric", file)
	}
	for _, name := range names {
		if _, ok := known[name]; !ok {
			t.Errorf("%s names %s, which no host shows", file, name)
		}
	}
	for _, m := range regexp.MustCompile(`\b(molar_\w+)\{(\w+)`).FindAllStringSubmatch(text, -1) {
		if labels := known[m[1]].Labels; !strings.Contains(" "+strings.Join(labels, " ")+" ", " "+m[2]+" ") {
			t.Errorf("%s: %s has no label %s", file, m[1], m[2])
		}
	}
}

// dashboard is Grafana's document: two panels a row.
func dashboard(metrics []telemetry.Metric) map[string]any {
	const width, height = 12, 8
	panels := make([]any, 0, len(metrics))
	for i, m := range metrics {
		panels = append(panels, map[string]any{
			"id": i + 1, "type": "timeseries", "title": m.Help,
			"datasource": map[string]string{"type": "prometheus", "uid": "${datasource}"},
			"gridPos":    map[string]int{"x": i % 2 * width, "y": i / 2 * height, "w": width, "h": height},
			"targets":    targets(m),
			"fieldConfig": map[string]any{
				"defaults":  map[string]any{"unit": unit(m), "min": 0},
				"overrides": []any{},
			},
		})
	}
	return map[string]any{
		"uid": "molar", "title": "Molar", "schemaVersion": 39, "editable": true,
		"time": map[string]string{"from": "now-6h", "to": "now"}, "refresh": "30s",
		"templating": map[string]any{"list": []any{
			map[string]string{"name": "datasource", "type": "datasource", "query": "prometheus"},
		}},
		"panels": panels,
	}
}

func unit(m telemetry.Metric) string {
	switch m.Kind {
	case telemetry.Histogram:
		return "s"
	case telemetry.Counter:
		return "cps"
	}
	return "short"
}

// targets are the lines of a panel: the rate of a counter, median and 99th percentile of a
// histogram, a gauge as it is, summed over the replicas.
func targets(m telemetry.Metric) []any {
	by, legend := "", "all"
	if len(m.Labels) > 0 {
		by = " by (" + strings.Join(m.Labels, ", ") + ")"
		legend = "{{" + strings.Join(m.Labels, "}} {{") + "}}"
	}
	target := func(ref, expr, legend string) any {
		return map[string]string{"refId": ref, "expr": expr, "legendFormat": legend}
	}
	switch m.Kind {
	case telemetry.Histogram:
		in := "le"
		if len(m.Labels) > 0 {
			in += ", " + strings.Join(m.Labels, ", ")
		}
		quantile := func(q string) string {
			return fmt.Sprintf("histogram_quantile(%s, sum by (%s) (rate(%s_bucket[$__rate_interval])))", q, in, m.Name)
		}
		return []any{target("A", quantile("0.5"), "p50 "+legend), target("B", quantile("0.99"), "p99 "+legend)}
	case telemetry.Counter:
		return []any{target("A", fmt.Sprintf("sum%s (rate(%s[$__rate_interval]))", by, m.Name), legend)}
	}
	return []any{target("A", fmt.Sprintf("sum%s (%s)", by, m.Name), legend)}
}
