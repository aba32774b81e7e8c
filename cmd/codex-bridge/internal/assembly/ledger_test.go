package assembly

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/codex-bridge/internal/decisionlog"
	"codex-bridge.example/relay/telemetry"
)

// No text of a decision has a secret, neither in the log nor in what a collector gets.
func TestDecisionsHaveNoSecrets(t *testing.T) {
	const secret = "rosebud-in-77-the-snow"
	t.Setenv("SERVICE_PASSWORD", secret)
	t.Setenv("CODEX_BRIDGE_STATE", filepath.Join(t.TempDir(), "state"))
	var mu sync.Mutex
	texts := make(map[string]string)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		texts[r.URL.Path] += string(body)
	}))
	defer server.Close()
	client, err := telemetry.NewCollector(server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	report, err := telemetry.New(telemetry.Options{
		Collector: client, Service: "codex-bridge", Version: "1", Instance: "i", Bytes: new(bridge.ByteCounts), Logs: true,
		Mode: func() string { return "enforce" }, Codex: func() (string, bool) { return "1.0.0", true },
	})
	if err != nil {
		t.Fatal(err)
	}
	record := decisionlog.New(&config.Config{})
	a := &Conversation{shared: &Shared{record: record}}
	if err := a.recorder(nil, report).Append(t.Context(), decision.Record{
		Client: "client " + secret, Thread: "thread " + secret, Turn: "turn " + secret, Method: "method/" + secret, Verdict: "deny", Mode: "enforce",
		Rule: "rule " + secret, Reason: "reason " + secret, Origin: secret + ":4", Fields: []string{"params." + secret}, Facts: `{"user":"` + secret + `"}`,
	}); err != nil {
		t.Fatal(err)
	}
	for e, err := range record.Current().Decisions(t.Context(), store.Filter{}) {
		entry, _ := json.Marshal(e)
		if err != nil || len(e.Fields) != 1 || e.Fields[0] != "params.<redacted>" {
			t.Fatal(err, e)
		}
		texts["the log"] = string(entry)
	}
	if err := report.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := record.Close(); err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{"the log", "/v1/logs", "/v1/metrics"} {
		if text := texts[place]; !strings.Contains(text, "method/") || strings.Contains(text, secret) {
			t.Errorf("%s: %s", place, text)
		}
	}
}
