package host

import (
	"strconv"
	"testing"

	"codex-bridge/bridge/config"
	"codex-bridge/relay/tools"
)

// A server that has other tools each time, none of which can be offered, is not remembered for
// all of them.
func TestReportBounded(t *testing.T) {
	f := New(Options{Config: config.Default()})
	const each = 100
	for n := range 10 * mostLeft / each {
		o := &tools.Snapshot{}
		for i := range each {
			o.Omitted = append(o.Omitted, tools.OmittedTool{Tool: strconv.Itoa(n*each + i), Origin: "tool_servers.x", Reason: "its name has other characters"})
		}
		f.report(o)
	}
	if len(f.left) > mostLeft+each {
		t.Errorf("%d are remembered", len(f.left))
	}
	f.Close(t.Context())
}
