package provider_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/relay/tools"
)

// A server of others, as people use it.
func TestEverythingServer(t *testing.T) {
	script, err := filepath.Abs("../../../testdata/npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js")
	if err != nil {
		t.Fatal(err)
	}
	w := newFixture(t, config.ToolServer{Command: []string{"node", script, "stdio"}, Protocol: "mcp"})
	for _, name := range []string{"echo", "get-sum", "get-tiny-image"} {
		if !strings.Contains(" "+w.names()+" ", " "+name+" ") {
			t.Fatalf("no %s among %s; %+v", name, w.names(), w.Status())
		}
	}
	run := func(name, arguments string) tools.Result {
		t.Helper()
		r, err := w.Run(t.Context(), tools.Call{Name: name, Arguments: json.RawMessage(arguments)})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := run("echo", `{"message":"hi"}`); r.Failed || len(r.Content) != 1 || r.Content[0].Text != "Echo: hi" {
		t.Error(r)
	}
	if r := run("get-sum", `{"a":2,"b":40}`); !strings.Contains(r.Content[0].Text, "42") {
		t.Error(r)
	}
	if r := run("get-sum", `{"a":"x"}`); !r.Failed {
		t.Error(r)
	}
	image := false
	for _, c := range run("get-tiny-image", `{}`).Content {
		image = image || strings.HasPrefix(c.Image, "data:image/png;base64,")
	}
	if !image {
		t.Error("no image")
	}
}
