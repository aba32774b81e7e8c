package telemetry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/relay/telemetry"
)

// logsBody is OTLP's encoding of logs.
type logsBody struct {
	ResourceLogs []struct {
		ScopeLogs []struct {
			LogRecords []struct {
				SeverityText, EventName string
				Attributes              []attribute
			}
		}
	}
}

// logCollector counts log records; it refuses them while status is not 200.
type logCollector struct {
	mu       sync.Mutex
	status   int
	records  int
	requests int
	last     logsBody
}

func (c *logCollector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.URL.Path != "/v1/logs" {
		return
	}
	c.requests++
	if w.WriteHeader(c.status); c.status == 200 && json.Unmarshal(body, &c.last) == nil {
		c.records += len(c.last.ResourceLogs[0].ScopeLogs[0].LogRecords)
	}
}

func openLogs(t *testing.T, status int, logs bool) (*logCollector, *telemetry.Telemetry) {
	t.Helper()
	c := &logCollector{status: status}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	client, err := telemetry.NewCollector(server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	one, err := telemetry.New(telemetry.Options{Collector: client, Service: "s", Version: "1", Logs: logs})
	if err != nil {
		t.Fatal(err)
	}
	return c, one
}

func denial() decision.Record {
	return decision.Record{
		Time: time.Unix(1_700_000_000, 0), Client: "zed", Thread: "t", Method: "turn/start", Verdict: "deny", Mode: "enforce", Rule: "policy.sandbox",
		Reason: "too loose", Fields: []string{"a", "b"},
	}
}

// A decision is a log record with the fields of its OCSF event.
func TestDecisionIsALogWithOCSFFields(t *testing.T) {
	c, one := openLogs(t, 200, true)
	one.RecordDecision(denial())
	if err := one.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	r := c.last.ResourceLogs[0].ScopeLogs[0].LogRecords[0]
	got := r.SeverityText + " " + r.EventName + " " + names(r.Attributes) + " "
	for _, want := range []string{
		"WARN codex_bridge.decision ", "class_uid=6003 ", "type_uid=600399 ", "action=Denied ", "disposition_id=2 ", "is_alert=true ", "api.operation=turn/start ",
		"policy.name=policy.sandbox ", "actor.app_name=zed ", "actor.session.uid=t ", "message=too loose ", "unmapped.fields=a b ", "metadata.version=1.8.0 ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
}

// Without Logs no decision is sent as a log.
func TestLogsAreOffByDefault(t *testing.T) {
	c, one := openLogs(t, 200, false)
	one.RecordDecision(denial())
	if err := one.Close(context.Background()); err != nil || c.requests != 0 {
		t.Errorf("%d requests, %v", c.requests, err)
	}
}

// Many decisions are sent in batches; each is counted as exported or as lost, and a loss is an error at
// the end.
func TestEachDecisionIsExportedOrCountedAsLost(t *testing.T) {
	const all = 10_000
	for _, status := range []int{200, 503} {
		c, one := openLogs(t, status, true)
		for range all {
			one.RecordDecision(denial())
		}
		err := one.Close(context.Background())
		lost := 0
		if err != nil {
			if _, scan := fmt.Sscanf(err.Error(), "the collector has not got %d decisions", &lost); scan != nil {
				t.Fatal(err)
			}
		}
		if c.records+lost != all || status == 503 && lost != all || c.requests > all/10 {
			t.Errorf("status %d: %d exported, %d lost of %d, in %d requests", status, c.records, lost, all, c.requests)
		}
	}
}
