package binding_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"codex-bridge.example/bridge/bridgetest/vectors"
	"codex-bridge.example/lifecycle/binding"
)

var now = time.Date(2026, 2, 3, 4, 5, 6, 7_000_000, time.UTC)

func read(t testing.TB, text string) (binding.Binding, []binding.Dropped) {
	t.Helper()
	b, dropped, err := binding.Read([]byte(text), "/s", now)
	if err != nil {
		t.Fatal(err)
	}
	return b, dropped
}

func TestReadErrors(t *testing.T) {
	for _, c := range []struct {
		name, text string
		malformed  bool
	}{
		{"empty", "", true},
		{"cut off", `{"schemaVersion":1,"threadId":"t"`, true},
		{"an array", "[]", true},
		{"a key twice", `{"schemaVersion":1,"threadId":"t","threadId":"u"}`, true},
		{"version 2", `{"schemaVersion":2,"threadId":"t"}`, false},
		{"version true", `{"schemaVersion":true,"threadId":"t"}`, false},
		{"no thread", `{"schemaVersion":1}`, false},
		{"a thread that is a number", `{"schemaVersion":1,"threadId":5}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, _, err := binding.Read([]byte(c.text), "/s", now)
			if err == nil || strings.Contains(err.Error(), "can't be read") != c.malformed {
				t.Errorf("the error is %v", err)
			}
			if !reflect.DeepEqual(b, binding.Binding{}) {
				t.Errorf("there is a binding all the same: %+v", b)
			}
		})
	}
}

// Read drops and reports one invalid field and keeps the others.
func TestReadDropsInvalidField(t *testing.T) {
	const good = `"fingerprint":"f","apps":{"x":{"configKey":"k","marketplaceName":"openai-bundled","pluginName":"n",` +
		`"allowDestructiveActions":false,"mcpServerNames":[]}}`
	for _, c := range []struct{ name, member, dropped string }{
		{"cwd", `"cwd":7`, "cwd"},
		{"model", `"model":[]`, "model"},
		{"provider", `"modelProvider":{}`, "modelProvider"},
		{"approval", `"approvalPolicy":{"granular":{}}`, "approvalPolicy"},
		{"sandbox", `"sandbox":"READ-ONLY"`, "sandbox"},
		{"tier", `"serviceTier":1`, "serviceTier"},
		{"tools", `"dynamicToolsFingerprint":[]`, "dynamicToolsFingerprint"},
		{"deferred", `"dynamicToolsContainDeferred":"yes"`, "dynamicToolsContainDeferred"},
		{"engine", `"contextEngine":{"schemaVersion":1,"engineId":"e"}`, "contextEngine"},
		{"engine null", `"contextEngine":null`, "contextEngine"},
		{"projection", `"contextEngine":{"schemaVersion":1,"engineId":"e","policyFingerprint":"p",` +
			`"projection":{"schemaVersion":1,"mode":"thread_bootstrap","epoch":" "}}`, "contextEngine.projection"},
		{"projection's fingerprint", `"contextEngine":{"schemaVersion":1,"engineId":"e","policyFingerprint":"p",` +
			`"projection":{"schemaVersion":1,"mode":"thread_bootstrap","epoch":"1","fingerprint":2}}`, "contextEngine.projection"},
		{"no apps", `"pluginAppPolicyContext":{"fingerprint":"f"}`, "pluginAppPolicyContext"},
		{"ids a list", `"pluginAppPolicyContext":{` + good + `,"pluginAppIds":[]}`, "pluginAppPolicyContext"},
		{"ids of numbers", `"pluginAppPolicyContext":{` + good + `,"pluginAppIds":{"k":[1]}}`, "pluginAppPolicyContext"},
		{"ids no list", `"pluginAppPolicyContext":{` + good + `,"pluginAppIds":{"k":"x"}}`, "pluginAppPolicyContext"},
		{"an older app", `"pluginAppPolicyContext":{` + strings.Replace(good, `{"configKey"`, `{"appId":"x","configKey"`, 1) + `}`, "pluginAppPolicyContext"},
		{"created", `"createdAt":5`, "createdAt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, dropped := read(t, `{"schemaVersion":1.0,"threadId":"t",`+c.member+`,"authProfileId":"p"}`)
			if len(dropped) != 1 || dropped[0].Field != c.dropped {
				t.Errorf("dropped: %v, want %s", dropped, c.dropped)
			}
			if b.ThreadID != "t" || b.AuthProfile != "p" {
				t.Errorf("the rest is lost: %+v", b)
			}
			for _, name := range []string{"contextEngine", "pluginAppPolicyContext", "sandbox", "approvalPolicy"} {
				if c.dropped == name && strings.Contains(string(binding.Encode(b)), name) {
					t.Errorf("%s is still there", name)
				}
			}
		})
	}
}

func TestReadEmptyThread(t *testing.T) {
	if b, _ := read(t, `{"schemaVersion":1,"threadId":""}`); b.Bound() || b.IsOf("") {
		t.Error("a record without a thread is bound")
	}
}

// Read returns the record that Encode wrote.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-zA-Z<&>"\\é🙂 ]{0,12}`)
		b := binding.Binding{
			SessionFile: "/s", ThreadID: text.Draw(t, "thread"), Cwd: text.Draw(t, "cwd"), AuthProfile: text.Draw(t, "profile"),
			Model: text.Draw(t, "model"), ModelProvider: text.Draw(t, "provider"), DynamicTools: text.Draw(t, "tools"),
			ServiceTier:    rapid.SampledFrom([]string{"", "fast", "FLEX", "auto"}).Draw(t, "tier"),
			Sandbox:        rapid.SampledFrom([]string{"", "read-only", "danger-full-access"}).Draw(t, "sandbox"),
			ApprovalPolicy: rapid.SampledFrom([]string{"", "never", "on-failure"}).Draw(t, "approval"),
			UserMCPServers: text.Draw(t, "servers"), Environments: text.Draw(t, "environments"),
			DynamicToolsContainDeferred: rapid.Bool().Draw(t, "deferred"),
		}
		if rapid.Bool().Draw(t, "engine") {
			b.ContextEngine = &binding.ContextEngine{EngineID: text.Draw(t, "id"), Policy: text.Draw(t, "policy")}
			if rapid.Bool().Draw(t, "projection") {
				b.ContextEngine.Projection = &binding.Projection{Epoch: "e" + text.Draw(t, "epoch"), Fingerprint: text.Draw(t, "print")}
			}
		}
		if rapid.Bool().Draw(t, "plugins") {
			b.PluginPolicy = &binding.PluginPolicy{
				Fingerprint: text.Draw(t, "policy print"),
				Apps: map[string]binding.PluginApp{text.Draw(t, "app"): {
					ConfigKey: text.Draw(t, "key"), Marketplace: "openai-curated", Plugin: text.Draw(t, "plugin"),
					AllowDestructiveActions: rapid.Bool().Draw(t, "destructive"), MCPServers: []string{text.Draw(t, "server")},
				}},
				AppIDs: map[string][]string{text.Draw(t, "ids"): {text.Draw(t, "one")}},
			}
		}
		b = b.Stamped(now)
		again, dropped, err := binding.Read(binding.Encode(b), "/s", time.Time{})
		if err != nil || len(dropped) > 0 {
			t.Fatalf("%v, dropped %v", err, dropped)
		}
		if diff := cmp.Diff(b, again); diff != "" {
			t.Errorf("(-written +read):\n%s", diff)
		}
	})
}

func FuzzRead(f *testing.F) {
	var v struct {
		Cases []struct{ File json.RawMessage }
	}
	vectors.Read(f, "session_binding.json", &v)
	for _, c := range v.Cases {
		f.Add([]byte(c.File))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b, _, err := binding.Read(text, "/s", now)
		if err != nil {
			if !reflect.DeepEqual(b, binding.Binding{}) {
				t.Fatalf("an error and a binding: %+v", b)
			}
			return
		}
		again, dropped, err := binding.Read(binding.Encode(b), "/s", time.Time{})
		if err != nil || len(dropped) > 0 {
			t.Fatalf("what was read is not read again: %v, dropped %v", err, dropped)
		}
		if diff := cmp.Diff(b, again); diff != "" {
			t.Fatalf("(-read +again):\n%s", diff)
		}
	})
}
