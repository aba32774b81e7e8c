//go:build unix

package main

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metricsql"
	"github.com/prometheus/otlptranslator"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/cmd/codex-bridge/internal/assembly"
	"codex-bridge.example/relay/telemetry"
)

// exported is what a collector gets from a bridge: the labels of each metric, by the name that
// Prometheus gives it, and the fields of a log, as Loki names them.
type exported struct {
	metrics map[string]map[string]bool
	fields  map[string]bool
}

type otlpAttributes []struct{ Key string }

func (a otlpAttributes) addTo(all map[string]bool) {
	for _, one := range a {
		all[strings.ReplaceAll(one.Key, ".", "_")] = true
	}
}

// exportAll plays a conversation with a turn, a tool, a hook and a refusal, and returns the exported data.
func exportAll(t *testing.T) exported {
	t.Helper()
	var mu sync.Mutex
	bodies := make(map[string][]byte)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		bodies[r.URL.Path] = body
	}))
	defer server.Close()
	client, err := telemetry.NewCollector(server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	report, err := telemetry.New(telemetry.Options{
		Collector: client, Service: "codex-bridge", Version: "1", Instance: assembly.InstanceID(), Bytes: new(bridge.ByteCounts), Logs: true,
		Mode: func() string { return "off" }, Codex: func() (string, bool) { return "1.0.0", false },
	})
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("../../testdata/sessions/telemetry.txt")
	if err != nil {
		t.Fatal(err)
	}
	bridgetest.Start(t, report).Play("telemetry.txt", string(script))
	report.RecordDecision(decision.Record{Time: time.Unix(1, 0), Client: "c", Method: "turn/start", Verdict: "deny", Mode: "enforce", Rule: "r", Reason: "x"})
	if err := report.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return readExported(t, bodies["/v1/metrics"], bodies["/v1/logs"])
}

func readExported(t *testing.T, metrics, logs []byte) exported {
	t.Helper()
	type points struct {
		DataPoints  []struct{ Attributes otlpAttributes }
		IsMonotonic bool
	}
	var m struct {
		ResourceMetrics []struct {
			Resource     struct{ Attributes otlpAttributes }
			ScopeMetrics []struct {
				Metrics []struct {
					Name, Unit     string
					Sum, Histogram *points
				}
			}
		}
	}
	var l struct {
		ResourceLogs []struct {
			ScopeLogs []struct {
				LogRecords []struct{ Attributes otlpAttributes }
			}
		}
	}
	if err := json.Unmarshal(metrics, &m); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(logs, &l); err != nil {
		t.Fatal(err)
	}
	namer := otlptranslator.MetricNamer{WithMetricSuffixes: true}
	all := exported{make(map[string]map[string]bool), make(map[string]bool)}
	resource := make(map[string]bool)
	m.ResourceMetrics[0].Resource.Attributes.addTo(resource)
	for _, one := range m.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		kind, data, suffixes := otlptranslator.MetricType(otlptranslator.MetricTypeNonMonotonicCounter), one.Sum, []string{""}
		switch {
		case one.Histogram != nil:
			kind, data, suffixes = otlptranslator.MetricTypeHistogram, one.Histogram, []string{"_bucket", "_sum", "_count"}
		case one.Sum.IsMonotonic:
			kind = otlptranslator.MetricTypeMonotonicCounter
		}
		name, err := namer.Build(otlptranslator.Metric{Name: one.Name, Unit: one.Unit, Type: kind})
		if err != nil {
			t.Fatal(err)
		}
		labels := map[string]bool{"job": resource["service_name"], "instance": resource["service_instance_id"], "le": one.Histogram != nil}
		for _, point := range data.DataPoints {
			point.Attributes.addTo(labels)
		}
		for _, suffix := range suffixes {
			all.metrics[name+suffix] = labels
		}
	}
	l.ResourceLogs[0].ScopeLogs[0].LogRecords[0].Attributes.addTo(all.fields)
	return all
}

// check reports names in a PromQL expression that are not exported.
func (e exported) check(t *testing.T, expr string) (names []string) {
	t.Helper()
	parsed, err := metricsql.Parse(strings.ReplaceAll(expr, "$__rate_interval", "5m"))
	if err != nil {
		t.Errorf("%s: %v", expr, err)
		return nil
	}
	var grouped []string
	labels := make(map[string]bool)
	metricsql.VisitAll(parsed, func(part metricsql.Expr) {
		switch part := part.(type) {
		case *metricsql.AggrFuncExpr:
			grouped = append(grouped, part.Modifier.Args...)
		case *metricsql.MetricExpr:
			for _, filters := range part.LabelFilterss {
				for _, f := range filters {
					if f.Label == "__name__" {
						names = append(names, f.Value)
						maps.Copy(labels, e.metrics[f.Value])
						if e.metrics[f.Value] == nil {
							t.Errorf("%s: no metric %s", expr, f.Value)
						}
					} else {
						grouped = append(grouped, f.Label)
					}
				}
			}
		}
	})
	for _, label := range grouped {
		if !labels[label] {
			t.Errorf("%s: no label %s", expr, label)
		}
	}
	return names
}

var (
	exprLine = regexp.MustCompile(`(?m)^ +expr: (?:\|\n((?: {10}.*\n)+)|(.*)$)`)
	logField = regexp.MustCompile(`\| (\w+)=|\{\{\.(\w+)\}\}`)
)

// The metrics of two bridges on a machine are not taken for those of one.
func TestInstancesOfBridgesDiffer(t *testing.T) {
	if one := assembly.InstanceID(); one == assembly.InstanceID() {
		t.Error(one)
	}
}

// The dashboard and the alert rules use only metrics, labels and fields of logs that a bridge exports,
// and all of its metrics.
func TestDashboardAndAlertsUseExportedNames(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	e := exportAll(t)
	raw, err := os.ReadFile("../../packaging/grafana/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Targets []struct {
				Expr, Interval string
				Datasource     struct{ Type string }
			}
		}
	}
	if err := json.Unmarshal(raw, &dashboard); err != nil {
		t.Fatal(err)
	}
	var used []string
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			if target.Datasource.Type == "prometheus" {
				used = append(used, e.check(t, target.Expr)...)
				// The SDK exports once a minute. Without this, Grafana's interval of a short time range has one sample.
				if strings.Contains(target.Expr, "$__rate_interval") && target.Interval != "1m" {
					t.Errorf("%s has the interval %q", target.Expr, target.Interval)
				}
				continue
			}
			for _, found := range logField.FindAllStringSubmatch(target.Expr, -1) {
				if name := found[1] + found[2]; name != "" && !e.fields[name] {
					t.Errorf("%s: no field %s", target.Expr, name)
				}
			}
		}
	}
	rules, err := os.ReadFile("../../packaging/grafana/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	found := exprLine.FindAllStringSubmatch(string(rules), -1)
	if len(found) != strings.Count(string(rules), "- alert:") {
		t.Errorf("%d expressions of %d alerts", len(found), strings.Count(string(rules), "- alert:"))
	}
	for _, one := range found {
		used = append(used, e.check(t, one[1]+one[2])...)
	}
	for name := range e.metrics {
		if !slices.Contains(used, name) && !strings.HasSuffix(name, "_sum") && !strings.HasSuffix(name, "_count") {
			t.Errorf("nothing shows %s", name)
		}
	}
}
