package threads

import (
	"encoding/json"
	"math/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"codex-bridge.example/lifecycle/binding"
	"codex-bridge.example/lifecycle/internal/jsontest"
	"codex-bridge.example/rpc"
)

func value(t rapid.TB, text string) rpc.Value {
	t.Helper()
	doc, err := rpc.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root()
}

func mustInputs(t rapid.TB, text string) binding.ThreadInputs {
	t.Helper()
	v := value(t, text)
	a, err := readSession(v)
	if err != nil || a == nil {
		t.Fatal(a, err)
	}
	in, err := a.inputs(v, "[]")
	if err != nil {
		t.Fatal(err)
	}
	return in
}

const all = `{"cwd":"/w","config":{"mcp_servers":{"c":{"command":"y"}},"model":"m"},"environments":[{"environmentId":"e"}],"bridge":{
	"sessionKey":"chat/1","contextEngine":{"id":"eng"},"mcpServers":{"s":{"command":"x"}},
	"plugins":{"enabled":true,"plugins":[{"configKey":"p","marketplaceName":"openai-curated","pluginName":"p","enabled":true}]}}}`

func TestReadSession(t *testing.T) {
	for _, text := range []string{`{}`, `{"bridge":null}`} {
		if a, err := readSession(value(t, text)); a != nil || err != nil {
			t.Errorf("%s is read as %v, %v", text, a, err)
		}
	}
	a, err := readSession(value(t, all))
	if err != nil {
		t.Fatal(err)
	}
	if a.Key != "chat/1" || a.Engine.ID != "eng" || string(a.Servers) != `{"mcp_servers":{"s":{"command":"x"}}}` || !a.Plugins.Enabled {
		t.Errorf("read as %+v", a)
	}
	in := mustInputs(t, all)
	if in.ContextEngine == nil || in.UserMCPServers == "" || in.MCPServers == "" || !in.Evaluated || in.Environments == "" ||
		in.Plugins.Input == "" || len(in.Plugins.EnabledKeys) != 1 {
		t.Errorf("the inputs are %+v", in)
	}
	if strings.Contains(in.UserMCPServers, "command") || strings.Contains(in.MCPServers, "command") {
		t.Error("the fingerprint of servers shows them")
	}
	least := mustInputs(t, `{"bridge":{"sessionKey":"k","contextEngine":null,"plugins":null,"mcpServers":null},"environments":null,"config":null}`)
	if diff := cmp.Diff(binding.ThreadInputs{DynamicTools: "[]", Evaluated: true}, least); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadSessionErrors(t *testing.T) {
	for says, text := range map[string]string{
		"bridge: it is an array":                `{"bridge":[]}`,
		"no sessionKey":                         `{"bridge":{}}`,
		"sessionKey: it is a number":            `{"bridge":{"sessionKey":5}}`,
		"blank":                                 `{"bridge":{"sessionKey":"  "}}`,
		"longer":                                `{"bridge":{"sessionKey":"` + strings.Repeat("a", 513) + `"}}`,
		"control":                               `{"bridge":{"sessionKey":"a\u0000"}}`,
		"bridge.later":                          `{"bridge":{"sessionKey":"k","later":1}}`,
		"bridge.contextEngine: id":              `{"bridge":{"sessionKey":"k","contextEngine":{"id":1}}}`,
		"bridge.mcpServers: the MCP server":     `{"bridge":{"sessionKey":"k","mcpServers":{"a":{}}}}`,
		"bridge.plugins: enabled":               `{"bridge":{"sessionKey":"k","plugins":{"enabled":"yes"}}}`,
		"bridge.plugins: it is a boolean":       `{"bridge":{"sessionKey":"k","plugins":true}}`,
		"appCacheKey":                           `{"bridge":{"sessionKey":"k","plugins":{"appCacheKey":1}}}`,
		"plugins: plugins: it is":               `{"bridge":{"sessionKey":"k","plugins":{"plugins":{}}}}`,
		"element 0: it has no configKey":        `{"bridge":{"sessionKey":"k","plugins":{"plugins":[{}]}}}`,
		"element 0: it is null":                 `{"bridge":{"sessionKey":"k","plugins":{"plugins":[null]}}}`,
		"element 0: pluginName: it is a number": `{"bridge":{"sessionKey":"k","plugins":{"plugins":[{"configKey":"a","pluginName":1}]}}}`,
		"element 0: later: it is not known":     `{"bridge":{"sessionKey":"k","plugins":{"plugins":[{"configKey":"a","later":1}]}}}`,
		"plugins: later: it is not known":       `{"bridge":{"sessionKey":"k","plugins":{"later":1}}}`,
		"ephemeral":                             `{"ephemeral":true,"bridge":{"sessionKey":"k"}}`,
	} {
		a, err := readSession(value(t, text))
		if err == nil || !strings.Contains(err.Error(), says) || a != nil {
			t.Errorf("%s is read as %+v, %v; want an error that says %q", text, a, err, says)
		}
	}
}

func TestServersOfConfig(t *testing.T) {
	of := func(config string) string {
		return mustInputs(t, `{"bridge":{"sessionKey":"k"},"config":`+config+`}`).MCPServers
	}
	one := of(`{"mcp_servers":{"a":{"command":"x"}}}`)
	for config, same := range map[string]bool{
		`{"model":"m","mcp_servers":{"a":{"command":"x"}}}`:                true,
		`{"mcp_servers":{"a":{"command":"y"}}}`:                            false,
		`{"mcp_servers.a.command":"x"}`:                                    false,
		`{"mcp_servers":{"a":{"command":"x"}},"mcp_servers.a.args":["z"]}`: false,
		`{"mcp_servers_of":{"a":{"command":"x"}}}`:                         false,
	} {
		if got := of(config) == one; got != same {
			t.Errorf("%s is the same: %v", config, got)
		}
	}
	for _, config := range []string{`{}`, `{"model":"m"}`, `{"mcp_servers":{}}`} {
		if got := of(config); got != "" {
			t.Errorf("%s has servers: %s", config, got)
		}
	}
	if of(`{"mcp_servers":{},"mcp_servers.a.command":"x"}`) == "" {
		t.Error("a server under a dotted key is not seen")
	}
}

func TestTrigger(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "", `{"bridge":null}`: "", `{"bridge":{}}`: "user", `{"bridge":{"trigger":"cron"}}`: "cron", `{"bridge":{"trigger":"heartbeat"}}`: "heartbeat",
	} {
		got, ok, err := readTrigger(value(t, text))
		if err != nil || string(got) != want || ok != (want != "") {
			t.Errorf("%s is started by %q, %v, %v", text, got, ok, err)
		}
	}
	for _, text := range []string{`{"bridge":5}`, `{"bridge":{"trigger":"moon"}}`, `{"bridge":{"trigger":null}}`, `{"bridge":{"later":1}}`} {
		if got, ok, err := readTrigger(value(t, text)); err == nil {
			t.Errorf("%s is started by %q, %v", text, got, ok)
		}
	}
}

func TestTold(t *testing.T) {
	b := binding.Binding{ThreadID: "t", DynamicTools: "[]", UserMCPServers: "v1:sha256:00", ContextEngine: &binding.ContextEngine{Policy: `v1:{"a":1}`}}
	for _, c := range []struct {
		d    binding.Decision
		want string
	}{
		{binding.Decision{Action: binding.ActionResume, Reason: binding.ReasonUnchanged}, `{"action":"resumed"`},
		{binding.Decision{Action: binding.ActionStart, Reason: binding.ReasonNotBound}, `{"action":"started","reason":"notBound"`},
		{binding.Decision{Action: binding.ActionRotate, Reason: binding.ReasonEngineChanged}, `{"action":"started","rotated":true,"reason":"contextEngineChanged"`},
		{binding.Decision{Action: binding.ActionTransient, Reason: binding.ReasonToolsGone}, `{"action":"started","transient":true,"reason":"dynamicToolsGone"`},
	} {
		text, err := json.Marshal(newSessionResult(c.d, b))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), c.want+`,"fingerprints":{"dynamicTools":"v1:sha256:`) || !strings.Contains(string(text), `"contextEngine":"v1:sha256:`) {
			t.Errorf("told is %s, want %s…", text, c.want)
		}
	}
}

// The same request in another spelling has the same inputs.
func TestSpelling(t *testing.T) {
	var v any
	if err := json.Unmarshal([]byte(all), &v); err != nil {
		t.Fatal(err)
	}
	want := mustInputs(t, all)
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed")))
		if diff := cmp.Diff(want, mustInputs(t, string(jsontest.Write(rnd, v)))); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func FuzzReadSession(f *testing.F) {
	f.Add(all)
	f.Add(`{"bridge":{"sessionKey":"k","mcpServers":{"a":{"url":"u","headers":{"A":"${B}"}}}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := rpc.ParseValue([]byte(text))
		if err != nil || doc.Truncated() {
			return
		}
		a, err := readSession(doc.Root())
		if err != nil || a == nil {
			return
		}
		in, err := a.inputs(doc.Root(), "[]")
		if err != nil {
			return
		}
		in.Plugins = binding.PluginInputs{} // with plugins on, their apps have to be built first
		if d := binding.Decide(binding.Binding{}, in); d.Action != binding.ActionStart {
			t.Fatalf("without a binding: %v", d)
		}
		b, err := binding.NewStarted(binding.ThreadRequest{}, in, binding.ThreadResponse{Thread: "t"})
		if err != nil {
			t.Fatal(err)
		}
		if d := binding.Decide(b, in); d.Action != binding.ActionResume {
			t.Fatalf("after the start: %v", d)
		}
	})
}
