package host

import (
	"log/slog"
	"strconv"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/relay/tools"
)

// The log does not remember every omitted tool of a server that lists others each time.
func TestLoggedToolsAreBounded(t *testing.T) {
	f := New(Options{Config: config.Default(), Log: slog.New(slog.DiscardHandler)})
	const each = 100
	for n := range 10 * maxLogged / each {
		o := &tools.Snapshot{}
		for i := range each {
			o.Omitted = append(o.Omitted, tools.OmittedTool{Tool: strconv.Itoa(n*each + i), Origin: "tool_servers.x", Reason: "its name has other characters"})
		}
		f.logOmitted(o)
	}
	if len(f.logged) > maxLogged+each {
		t.Errorf("%d are remembered", len(f.logged))
	}
	f.Close(t.Context())
}
