//go:build linux

package e2e_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
)

// A collector from the environment gets turns, tools, hooks and decisions, without texts of the
// conversation.
func TestTelemetryHasNoContent(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	output := make(map[string]string)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		output[r.URL.Path] += string(body)
	}))
	defer server.Close()
	w := newWorld(t, options{config: hooksPolicy, env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + server.URL}})
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	c.runTurn(thread, "RUN: echo heliotrope")
	c.toolOutput(thread, "RUN: touch heliotrope")
	c.closeAndWait()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for path, words := range map[string][]string{
		"/v1/traces":  {`"turn"`, `"tool shell"`, `"hook preToolUse"`, `"blocked"`, thread},
		"/v1/metrics": {`"codex_bridge.turns"`, `"codex_bridge.decisions"`, `"deny"`, `"codex_bridge.hook.duration"`, `"codex_bridge.tool.duration"`, `"codex_bridge.bytes"`, `"service.instance.id","value":{"stringValue":"` + host + "/"},
	} {
		for _, word := range words {
			if !strings.Contains(output[path], word) {
				t.Errorf("%s lacks %s:\n%.2000s", path, word, output[path])
			}
		}
		if strings.Contains(output[path], "heliotrope") {
			t.Errorf("%s has a text of the conversation", path)
		}
	}
}
