package binding_test

import (
	"encoding/json"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"codex-bridge.example/lifecycle/binding"
	"codex-bridge.example/lifecycle/internal/jsontest"
	"codex-bridge.example/lifecycle/params"
	"codex-bridge.example/rpc"
)

var lawNow = time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)

// host holds all inputs of a thread, as values.
type host struct {
	servers, engine map[string]any
	environments    []any
	evaluated       any
	tools           []any
	plugins         binding.PluginSettings
	apps            map[string]binding.PluginApp
}

var pick = func(t *rapid.T, name string, from ...string) string { return rapid.SampledFrom(from).Draw(t, name) }

func drawHost(t *rapid.T) host {
	h := host{servers: map[string]any{}, apps: map[string]binding.PluginApp{}}
	for range rapid.IntRange(0, 2).Draw(t, "servers") {
		h.servers[pick(t, "server", "a", "b")] = map[string]any{
			"url": pick(t, "url", "u", "v"), "headers": map[string]any{"X": "${X}", "Authorization": "Bearer ${T}", "Y": pick(t, "header", "1", "2")},
		}
	}
	if rapid.Bool().Draw(t, "engine") {
		h.engine = map[string]any{
			"id": pick(t, "id", "e", "f"), "version": pick(t, "version", "1", "2"), "ownsCompaction": rapid.Bool().Draw(t, "owns"),
			"citationsMode": jsontest.Value(t, 2), "contextTokenBudget": float64(rapid.SampledFrom([]int{100_000, 200_000}).Draw(t, "budget")),
			"projection": map[string]any{"epoch": pick(t, "epoch", "1", "2")},
		}
	}
	if rapid.Bool().Draw(t, "chosen") {
		h.environments = []any{map[string]any{"environmentId": pick(t, "environment", "x", "y"), "cwd": "/w"}}
	}
	if rapid.Bool().Draw(t, "evaluated") {
		h.evaluated = map[string]any{"a": jsontest.Value(t, 1)}
	}
	for _, name := range []string{"t", "u"} {
		if rapid.Bool().Draw(t, "tool") {
			h.tools = append(h.tools, map[string]any{"name": name, "description": "d", "inputSchema": map[string]any{"type": pick(t, "type", "object", "string")}})
		}
	}
	h.plugins.Enabled = rapid.Bool().Draw(t, "plugins")
	for range rapid.IntRange(0, 2).Draw(t, "plugin") {
		h.plugins.Plugins = append(h.plugins.Plugins, binding.Plugin{ConfigKey: pick(t, "key", "p", "q"), Enabled: rapid.Bool().Draw(t, "on")})
	}
	if rapid.Bool().Draw(t, "app") {
		h.apps["i"] = binding.PluginApp{ConfigKey: "p", Marketplace: "openai-bundled", Plugin: pick(t, "plugin's name", "n", "m")}
	}
	return h
}

// inputs returns the inputs of a decision for the host's values. The spelling of the values differs
// between two calls.
func (h host) inputs(t rapid.TB, rnd *rand.Rand) binding.ThreadInputs {
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	var in binding.ThreadInputs
	patch, err := params.MCPServersConfig(value(t, jsontest.Write(rnd, h.servers)))
	check(err)
	if patch != nil {
		in.UserMCPServers, err = binding.HashFingerprint(patch)
		check(err)
	}
	if h.engine != nil {
		h.engine["name"] = []string{"One", "Two"}[rnd.Intn(2)]
		e, err := binding.ReadEngine(value(t, jsontest.Write(rnd, h.engine)))
		check(err)
		in.ContextEngine, err = e.Binding()
		check(err)
	}
	if h.environments != nil {
		in.Environments, err = binding.TextFingerprint(jsontest.Write(rnd, h.environments))
		check(err)
	}
	if h.evaluated != nil {
		in.Evaluated = true
		in.MCPServers, err = binding.HashFingerprint(jsontest.Write(rnd, h.evaluated))
		check(err)
	}
	var tools []string
	for _, tool := range h.tools {
		m := tool.(map[string]any)
		m["description"] = []string{"one", "two"}[rnd.Intn(2)]
		tools = append(tools, string(jsontest.Write(rnd, m)))
	}
	rnd.Shuffle(len(tools), func(i, j int) { tools[i], tools[j] = tools[j], tools[i] })
	list := make([]map[string]json.RawMessage, len(tools))
	for i := range tools {
		check(json.Unmarshal([]byte(tools[i]), &list[i]))
	}
	in.DynamicTools = toolsOf(t, list)
	in.Plugins.Enabled = h.plugins.Enabled
	if h.plugins.Enabled {
		p := h.plugins
		p.Plugins = append([]binding.Plugin(nil), p.Plugins...)
		rnd.Shuffle(len(p.Plugins), func(i, j int) { p.Plugins[i], p.Plugins[j] = p.Plugins[j], p.Plugins[i] })
		in.Plugins.Input, err = p.Input()
		check(err)
		in.Plugins.EnabledKeys = p.EnabledKeys()
		in.Plugins.Config, err = binding.NewAppConfig(in.Plugins.Input, json.RawMessage(`{"apps":{}}`), h.apps, nil)
		check(err)
	}
	return in
}

// bind carries out a decision and passes the binding through its file.
func bind(t rapid.TB, b binding.Binding, in binding.ThreadInputs, d binding.Decision) binding.Binding {
	var err error
	switch d.Action {
	case binding.ActionResume:
		b = binding.NewResumed(b, binding.ThreadRequest{Cwd: "/w"}, in, binding.ThreadResponse{Thread: b.ThreadID})
	case binding.ActionStart, binding.ActionRotate:
		b, err = binding.NewStarted(binding.ThreadRequest{Cwd: "/w"}, in, binding.ThreadResponse{Thread: b.ThreadID + "+"})
		if err != nil {
			t.Fatal(err)
		}
	}
	o := lawNow
	again, dropped, err := binding.Read(binding.Encode(b.Stamped(o)), "", o)
	if err != nil || len(dropped) > 0 {
		t.Fatal(err, dropped)
	}
	return again
}

func source(t *rapid.T) *rand.Rand { return rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed"))) }

// A change of spelling starts no thread.
func TestSpellingStartsNoThread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, rnd := drawHost(t), source(t)
		in := h.inputs(t, rnd)
		b := bind(t, binding.Binding{}, in, binding.Decide(binding.Binding{}, in))
		for range 5 {
			in = h.inputs(t, rnd)
			d := binding.Decide(b, in)
			if d.Action != binding.ActionResume {
				t.Fatalf("%s because %s", d.Action, d.Reason)
			}
			b = bind(t, b, in, d)
		}
	})
}

// The same for a long conversation with all inputs.
func TestSpellingStartsNoThreadInThousandTurns(t *testing.T) {
	h := host{
		servers:      map[string]any{"a": map[string]any{"command": "x", "env": map[string]any{"K": "v", "L": "w"}}, "b": map[string]any{"url": "u"}},
		engine:       map[string]any{"id": "e", "version": "1", "contextTokenBudget": 100000.0, "projection": map[string]any{"epoch": "1", "fingerprint": "f"}},
		environments: []any{map[string]any{"environmentId": "x", "cwd": "/w"}},
		evaluated:    map[string]any{"s": map[string]any{"url": "u", "n": 10.0}},
		tools: []any{
			map[string]any{"name": "t", "inputSchema": map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string"}}}},
			map[string]any{"name": "u", "inputSchema": map[string]any{"type": "object"}},
		},
		plugins: binding.PluginSettings{Enabled: true, Plugins: []binding.Plugin{{ConfigKey: "p", Enabled: true}, {ConfigKey: "q"}}},
		apps:    map[string]binding.PluginApp{"i": {ConfigKey: "p", Marketplace: "openai-curated", Plugin: "n"}},
	}
	rnd := rand.New(rand.NewSource(1))
	in := h.inputs(t, rnd)
	b := bind(t, binding.Binding{}, in, binding.Decide(binding.Binding{}, in))
	started, rotations := b.ThreadID, 0
	for range 1000 {
		in = h.inputs(t, rnd)
		d := binding.Decide(b, in)
		if d.Action != binding.ActionResume {
			rotations++
		}
		b = bind(t, b, in, d)
	}
	if rotations != 0 || b.ThreadID != started {
		t.Errorf("%d of 1000 turns started a thread", rotations)
	}
}

// A resumed thread has the fingerprints that it was started with.
func TestNoResumeAcrossFingerprints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := source(t)
		was, is := drawHost(t), drawHost(t)
		old, in := was.inputs(t, rnd), is.inputs(t, rnd)
		b := bind(t, binding.Binding{}, old, binding.Decision{Action: binding.ActionStart})
		same := old.UserMCPServers == in.UserMCPServers && old.Environments == in.Environments && old.DynamicTools == in.DynamicTools &&
			(!in.Evaluated || old.MCPServers == in.MCPServers) && binding.SameEngine(old.ContextEngine, in.ContextEngine) &&
			old.Plugins.Enabled == in.Plugins.Enabled && old.Plugins.Input == in.Plugins.Input
		// The apps count unless no plugin is enabled that could have any.
		if same && in.Plugins.Enabled && (len(was.apps) == 0 || len(in.Plugins.EnabledKeys) > 0) {
			same = old.Plugins.Config.Output == in.Plugins.Config.Output
		}
		if d := binding.Decide(b, in); (d.Action == binding.ActionResume) != same {
			t.Fatalf("%s because %s; the fingerprints are the same: %v", d.Action, d.Reason, same)
		}
	})
}

// With the new binding the same inputs resume. A transient thread changes neither the binding nor
// later decisions.
func TestSameInputsResume(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := source(t)
		var b binding.Binding
		for range rapid.IntRange(1, 6).Draw(t, "turns") {
			h := drawHost(t)
			in := h.inputs(t, rnd)
			d := binding.Decide(b, in)
			if d.Action == binding.ActionBuild {
				t.Fatal("it has been built")
			}
			next := bind(t, b, in, d)
			again := binding.Decide(next, h.inputs(t, rnd))
			if d.Action == binding.ActionTransient {
				if next.ThreadID != b.ThreadID || again != d {
					t.Fatalf("after a transient thread: %s because %s", again.Action, again.Reason)
				}
			} else if again.Action != binding.ActionResume {
				t.Fatalf("%s because %s, and then %s because %s", d.Action, d.Reason, again.Action, again.Reason)
			}
			b = next
		}
	})
}

// toolsOf returns the fingerprint of a catalogue, like another package of the bridge does.
func toolsOf(t rapid.TB, tools []map[string]json.RawMessage) string {
	t.Helper()
	list := make([]string, 0, len(tools))
	for _, tool := range tools {
		tool = maps.Clone(tool)
		delete(tool, "description")
		text, err := json.Marshal(tool)
		if err != nil {
			t.Fatal(err)
		}
		c, err := binding.CanonicalJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(c))
	}
	slices.Sort(list)
	return "[" + strings.Join(list, ",") + "]"
}

func value(t rapid.TB, text []byte) rpc.Value {
	t.Helper()
	if len(text) == 0 {
		return rpc.Value{}
	}
	doc, err := rpc.ParseValue(text)
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root()
}
