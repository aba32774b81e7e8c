package telemetry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/relay/telemetry"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
)

func TestMain(m *testing.M) { bridgetest.Main(m) }

// collector keeps the requests that it gets.
type collector struct {
	mu     sync.Mutex
	status int
	bodies map[string][]byte // by path
	header http.Header
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bodies[r.URL.Path], c.header = body, r.Header
	w.WriteHeader(c.status)
}

type attribute struct {
	Key   string
	Value map[string]any
}

type point struct {
	Attributes   []attribute
	AsInt, Count string
	Sum          float64
	BucketCounts []string
}

// otlpBody is OTLP's encoding; other names are errors.
type otlpBody struct {
	ResourceSpans []struct {
		Resource   struct{ Attributes []attribute }
		ScopeSpans []struct {
			Scope struct{ Name, Version string }
			Spans []struct {
				TraceID, SpanID, ParentSpanID, Name string
				Kind                                int
				StartTimeUnixNano, EndTimeUnixNano  json.Number `json:",string"`
				Attributes                          []attribute
				Status                              struct {
					Code    int
					Message string
				}
			}
		}
	}
	ResourceMetrics []struct {
		ScopeMetrics []struct {
			Metrics []struct {
				Name           string
				Unit           string
				Sum, Histogram struct {
					DataPoints             []point
					AggregationTemporality int
				}
			}
		}
	}
}

func names(list []attribute) string {
	var all []string
	for _, a := range list {
		for _, v := range a.Value {
			all = append(all, fmt.Sprintf("%s=%v", a.Key, v))
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// A turn with a tool and a hook is a span with two children, and is counted. No content of
// messages is exported.
func TestTurnIsExportedAsSpansAndMetrics(t *testing.T) {
	c := &collector{status: 200, bodies: make(map[string][]byte)}
	server := httptest.NewServer(c)
	defer server.Close()
	client, err := telemetry.NewCollector(server.URL+"/", telemetry.ParseHeaders("x-token=a%20b, bad"))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var said bridge.ByteCounts
	said.FromClient.Store(7)
	said.FromCodex.Store(9)
	telemetry, err := telemetry.New(telemetry.Options{Collector: client, Service: "s", Version: "1", Instance: "i", Bytes: &said, Now: func() time.Time {
		now = now.Add(time.Second)
		return now
	}})
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("../../testdata/sessions/telemetry.txt")
	if err != nil {
		t.Fatal(err)
	}
	bridgetest.Start(t, telemetry).Play("telemetry.txt", string(script))
	telemetry.RecordDecision(decision.Record{Method: "turn/start", Verdict: "rewrite", Mode: "enforce", Reason: "canary"})
	if err := telemetry.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if c.header.Get("X-Token") != "a b" || c.header.Get("Content-Type") != "application/json" {
		t.Errorf("headers: %v", c.header)
	}
	var all otlpBody
	for _, path := range []string{"/v1/traces", "/v1/metrics"} {
		if strings.Contains(string(c.bodies[path]), "canary") {
			t.Errorf("%s has what was said", path)
		}
		if err := json.Unmarshal(c.bodies[path], &all); err != nil {
			t.Fatalf("%s: %v\n%s", path, err, c.bodies[path])
		}
	}
	if got := names(all.ResourceSpans[0].Resource.Attributes); got != "service.instance.id=i service.name=s service.version=1" {
		t.Errorf("the resource is %s", got)
	}
	var got []string
	ids := make(map[string]string)
	spans := all.ResourceSpans[0].ScopeSpans[0].Spans
	for _, s := range spans {
		ids[s.SpanID] = s.Name
	}
	for _, s := range spans {
		start, _ := s.StartTimeUnixNano.Int64()
		end, _ := s.EndTimeUnixNano.Int64()
		got = append(got, fmt.Sprintf("%s < %s: %v %d %s", s.Name, ids[s.ParentSpanID], time.Duration(end-start), s.Status.Code, names(s.Attributes)))
	}
	want := []string{
		"hook preToolUse < turn: 7ms 0 event=preToolUse status=blocked",
		"tool mcp < turn: 1s 2 status=failed tool.name=find tool=mcp",
		"turn < : 4s 0 codex.thread.id=t codex.turn.id=u status=completed",
		"turn < : 1s 2 codex.thread.id=t codex.turn.id=v",
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans: -want +got\n%s", diff)
	}
	got = nil
	for _, m := range all.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		for _, p := range m.Sum.DataPoints {
			got = append(got, fmt.Sprintf("%s %s: %s", m.Name, names(p.Attributes), p.AsInt))
		}
		for _, p := range m.Histogram.DataPoints {
			got = append(got, fmt.Sprintf("%s %s: %s, %v %s in %d", m.Name, names(p.Attributes), p.Count, p.Sum, m.Unit, len(p.BucketCounts)))
		}
	}
	want = []string{
		"codex_bridge.bytes from=client: 7",
		"codex_bridge.bytes from=codex: 9",
		"codex_bridge.decisions method=turn/start mode=enforce verdict=rewrite: 1",
		"codex_bridge.hook.duration event=preToolUse status=blocked: 1, 0.007 s in 17",
		"codex_bridge.tool.duration status=failed tool=mcp: 1, 1 s in 17",
		"codex_bridge.turn.duration status=completed: 1, 4 s in 17",
		"codex_bridge.turns status=completed: 1",
		"codex_bridge.turns.in_flight : 0",
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics: -want +got\n%s", diff)
	}
}

// The error of a collector that rejects data or can't be reached goes to the log only, and
// never shows an address with a password.
func TestErrorsNeverShowTheAddress(t *testing.T) {
	var mu sync.Mutex
	var errs []string
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		mu.Lock()
		defer mu.Unlock()
		errs = append(errs, err.Error())
	}))
	c := &collector{status: 503, bodies: make(map[string][]byte)}
	server := httptest.NewServer(c)
	host := strings.TrimPrefix(server.URL, "http://")
	for _, address := range []string{"http://ada:hunter2@" + host, "http://ada:hunter2@127.0.0.1:1"} {
		client, err := telemetry.NewCollector(address, nil)
		if err != nil {
			t.Fatal(err)
		}
		one, err := telemetry.New(telemetry.Options{Collector: client, Service: "s"})
		if err != nil {
			t.Fatal(err)
		}
		one.RecordDecision(decision.Record{Verdict: "deny"})
		if err := one.Close(context.Background()); err == nil {
			t.Errorf("%s takes it", address)
		} else {
			errs = append(errs, err.Error())
		}
	}
	server.Close()
	mu.Lock()
	defer mu.Unlock()
	said := strings.Join(errs, "\n")
	if !strings.Contains(said, "the collector rejected metrics: 503") || !strings.Contains(said, "refused") || strings.Contains(said, "hunter2") {
		t.Errorf("the errors are\n%s", said)
	}
	for _, address := range []string{"", "localhost:4318", "ftp://x", "http://%zz"} {
		if _, err := telemetry.NewCollector(address, nil); err == nil {
			t.Errorf("%q is an address", address)
		}
	}
}

// The headers, which have the collector's key, go to no other host.
func TestHeadersDoNotFollowRedirects(t *testing.T) {
	other := &collector{status: 200, bodies: make(map[string][]byte)}
	elsewhere := httptest.NewServer(other)
	defer elsewhere.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	client, err := telemetry.NewCollector(server.URL, telemetry.ParseHeaders("x-team=key"))
	if err != nil {
		t.Fatal(err)
	}
	one, err := telemetry.New(telemetry.Options{Collector: client, Service: "s"})
	if err != nil {
		t.Fatal(err)
	}
	one.RecordDecision(decision.Record{Verdict: "deny"})
	if err := one.Close(context.Background()); err == nil || !strings.Contains(err.Error(), "redirects") || strings.Contains(err.Error(), elsewhere.URL) {
		t.Error(err)
	}
	if other.header != nil {
		t.Errorf("another is told %v", other.header)
	}
}
