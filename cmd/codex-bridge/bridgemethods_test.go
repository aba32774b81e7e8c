//go:build unix

package main

import (
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/cmd/codex-bridge/internal/assembly"
	"codex-bridge.example/cmd/codex-bridge/internal/compat"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/decisionlog"
	"codex-bridge.example/cmd/internal/core"
)

// beginsWork has each method of the bridge, and whether it begins work.
var beginsWork = map[string]bool{
	"bridge/acp/cancel": false, "bridge/acp/list": false, "bridge/acp/send": true, "bridge/acp/spawn": true,
	"bridge/binding/clear": false, "bridge/binding/list": false, "bridge/binding/read": false,
	"bridge/diagnostics/preview": false, "bridge/diagnostics/upload": true,
	"bridge/grant/list": false, "bridge/grant/revoke": false,
	"bridge/image/describe": true,
	"bridge/policy/explain": false, "bridge/status": false,
	"bridge/tool/list": false, "bridge/tool/register": false, "bridge/tool/unregister": false,
	"bridge/turn/compact": true, "bridge/turn/enqueue": true, "bridge/turn/interrupt": false, "bridge/turn/run": true, "bridge/turn/set": false,
}

// Each method of the bridge that a feature answers has a verdict. Without the bundle of the policy source, those that
// begin work are refused before a feature sees them, and so is a method that the bridge does not know yet.
func TestBridgeMethodsWithoutBundle(t *testing.T) {
	user := filepath.Join(folderOutsideTemp(t), "config.toml")
	const text = "[policy]\nmode = \"enforce\"\n[policy_source]\nurl = \"file:///nowhere\"\nroot = \"root.json\"\n[acp.agents.a]\ncommand = [\"/bin/false\"]\n"
	if err := os.WriteFile(user, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o := config.Options{User: user, Bundle: configured.LoadBundle}
	w := &assembled{t: t, answer: func(request) (any, string) { return map[string]any{}, "" }}
	w.Conversation, w.record = assembleOptions(t, o, slog.New(slog.DiscardHandler))
	go w.play()
	if listed, want := bridgeMethods(t, o), slices.Sorted(maps.Keys(beginsWork)); !slices.Equal(listed, want) {
		t.Errorf("the features answer %q, and the test has %q", listed, want)
	}
	w.initialize(nil)
	for method, begins := range beginsWork {
		if guard.BeginsWork(method) != begins || !guard.IsOwnMethod(method) {
			t.Errorf("%s: begins work %t, one of the bridge's own %t", method, !begins, guard.IsOwnMethod(method))
		}
		_, err := w.call(method, map[string]any{})
		if refused := err != nil && strings.Contains(err.Error(), "policy_source"); refused != begins {
			t.Errorf("%s: %v", method, err)
		}
	}
	if _, err := w.call("bridge/of/the/future", map[string]any{}); err == nil || !strings.Contains(err.Error(), "policy_source") {
		t.Errorf("a method of the future: %v", err)
	}
}

// bridgeMethods returns the methods of the bridge that the program's features answer.
func bridgeMethods(t *testing.T, o config.Options) []string {
	t.Helper()
	cfg, err := config.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	log, record := slog.New(slog.DiscardHandler), decisionlog.New(cfg)
	shared, err := assembly.NewShared(cfg, "", codex.Command{Path: "codex"}, record, log)
	if err != nil {
		t.Fatal(err)
	}
	defer core.CloseTogether(shared.Parts())
	a, err := assembly.New(shared, log, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	all := make(map[string]bool)
	for _, feature := range a.Options.Features {
		for _, route := range feature.Routes() {
			if route.From == bridge.Client && strings.HasPrefix(route.Method, "bridge/") {
				all[route.Method] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// A method that a workspace file can't deny is one of the method table or of the bridge. Each method whose name says
// that it stops something is one of them.
func TestStoppingMethods(t *testing.T) {
	for name := range config.StoppingMethods {
		if compat.OverrideProblem(nil, name) != "" {
			t.Errorf("%s: %s", name, compat.OverrideProblem(nil, name))
		}
	}
	stops := regexp.MustCompile(`(?i)(cancel|interrupt|stop|terminate|kill|unsubscribe|unwatch|unregister|disable|logout)$`)
	for _, name := range slices.AppendSeq(methods.Names(methods.ClientRequest), maps.Keys(beginsWork)) {
		if stops.MatchString(name) && !config.StoppingMethods[name] {
			t.Errorf("a workspace file can deny %s", name)
		}
	}
}
